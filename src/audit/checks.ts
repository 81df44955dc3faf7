/** The files that the checks of a run execute, and the tests at its start. */
import type { RunRecord } from '../model/visit-record.ts';
import { type CheckCommand, reachedBy } from '../policy/check-commands.ts';
import { isInstalled } from '../policy/test-files.ts';
import { hasCommands } from '../policy/test-settings.ts';
import type { Snapshot, Snapshots } from '../workspace/snapshot.ts';
import type { About } from './tampering.ts';

/** The most bytes of a script that is searched for further files. */
const largest = 1024 * 1024;

/** Follows the commands of tools and verifications through the files at the start and at the end of the run. */
export async function aboutChecks(
  records: readonly RunRecord[],
  start: Snapshot,
  end: Snapshot,
  snapshots: Snapshots,
): Promise<About> {
  const read = async (path: string, trees = [start, end]): Promise<string | undefined> => {
    for (const { tree } of trees) {
      const { hash, size = 0 } = tree.get(path) ?? {};
      if (hash !== undefined) return size > largest ? '' : (await snapshots.read(hash)).toString();
    }
    return undefined;
  };
  const texts = new Map<string, string>();
  for (const snapshot of [end, start])
    for (const path of snapshot.tree.keys())
      if (hasCommands(path) && !isInstalled(path)) texts.set(path, (await read(path, [snapshot])) ?? '');
  const reached = await reachedBy(records.flatMap(commandsOf), texts, (path) => read(path));
  return { start: new Set(start.tree.keys()), reached };
}

const commandsOf = (record: RunRecord): CheckCommand[] =>
  record.type === 'Visit' && record.node_type !== 'codergen'
    ? (record.commands ?? []).map(({ argv }) => argv)
    : [];
