/** Counts the failures of a loop that makes no progress: the same failure again, though an agent has worked in between, and no
 *  relevant change of the workspace. */
import { isAbsolute, join } from 'node:path';
import { isRelevant, signatureOf } from '../core/failure-signature.ts';
import { isAgentType, isExecutableType, type Node } from '../core/graph.ts';
import { own } from '../core/json.ts';
import type { Outcome, RepeatedFailure } from '../core/outcome.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import { readSome } from '../platform/files/read.ts';
import { diff } from '../workspace/diff.ts';
import { readIgnore } from '../workspace/ignore.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import { lastOutputs } from './feedback.ts';

const mostVisits = 10;
/** Bytes of a `.gitignore`, and of the end of each stream that tell one failure from another. */
const mostRead = 32_768;

/** An execution of a tool, verification or codergen node. */
export type FinishedExecution = {
  readonly node: Node;
  readonly nodeDir: string;
  readonly workspace: string;
  /** The folder for temporary files in the environment of nodes. */
  readonly temporary?: string | undefined;
  readonly visit: number;
  /** Its number among all executions of the run. */
  readonly step: number;
  readonly outcome: Outcome;
  readonly before: Snapshot;
  readonly after: Snapshot;
};

/** How the failures of the node count after this execution: null when they have ended, undefined when nothing changes.
 *  `snapshotOf` returns an earlier snapshot; one that is gone counts as a change. `printable` takes lines of the holdout out of
 *  what is quoted. */
export async function repeatedFailure(
  kind: string,
  state: Pick<RunState, 'alike' | 'agent_step'>,
  judged: FinishedExecution,
  snapshotOf: (id: string) => Promise<Snapshot>,
  printable: (text: string) => string | Promise<string> = (text) => text,
): Promise<RepeatedFailure | null | undefined> {
  const byAgent = isAgentType(kind);
  if (!isExecutableType(kind)) return undefined;
  const { node, nodeDir, outcome, visit, step, before, after, temporary = '' } = judged;
  const earlier = own(state.alike ?? {}, node.id);
  if (outcome.status !== 'fail') return earlier === undefined ? undefined : null;
  // A provider that cannot be reached costs nothing, and is back some time.
  if (byAgent && outcome.class === 'infra') return undefined;
  const failure = {
    node: node.id,
    class: outcome.class,
    command: outcome.command ?? '',
    reason: outcome.reason,
    output: byAgent ? '' : await outputOf(nodeDir),
    temporary: isAbsolute(temporary) ? temporary : '',
  };
  const { id: signature } = signatureOf(failure);
  const { head } = signatureOf({
    ...failure,
    reason: await printable(failure.reason),
    output: await printable(failure.output),
  });
  const once = { signature, head, count: 1, visits: [visit], step, after: after.id };
  if (earlier === undefined || earlier.signature !== signature) return once;
  // What an agent itself has changed is progress; what a check has changed are its leftovers.
  if (await changed(earlier.after, { ...judged, before: byAgent ? after : before }, snapshotOf)) return once;
  // No agent has tried to fix it: a tool that repeats itself is waiting for something.
  if ((state.agent_step ?? -1) < earlier.step) return undefined;
  return { ...once, count: earlier.count + 1, visits: [...earlier.visits, visit].slice(-mostVisits) };
}

/** Whether anything relevant differs between the snapshot `from` and the workspace before this execution. What the
 *  product's own `.gitignore` names is made by its builds and tests. */
async function changed(
  from: string,
  { before, workspace }: Pick<FinishedExecution, 'before' | 'workspace'>,
  snapshotOf: (id: string) => Promise<Snapshot>,
): Promise<boolean> {
  if (from === before.id) return false;
  const earlier = await snapshotOf(from).catch(() => undefined);
  if (earlier === undefined) return true;
  const { created, modified, deleted, folders } = diff(earlier, before);
  const paths = [
    ...[...created, ...modified, ...deleted].map((path) => ({ path, folder: false })),
    ...[folders.created, folders.modified, folders.deleted].flat().map((path) => ({ path, folder: true })),
  ].filter(({ path }) => isRelevant(path));
  if (paths.length === 0) return false;
  const text =
    before.tree.get('.gitignore')?.kind === 'file'
      ? await readSome(join(workspace, '.gitignore'), mostRead)
      : undefined;
  if (text === undefined) return true;
  const ignored = readIgnore(text);
  return paths.some(
    ({ path, folder }) =>
      !ignored(path, folder) &&
      ![...path.matchAll(/\//g)].some(({ index }) => ignored(path.slice(0, index), true)),
  );
}

async function outputOf(nodeDir: string): Promise<string> {
  const { stdout, stderr } = await lastOutputs(nodeDir);
  const tails = [stdout, stderr].map(async (path) => {
    const tail = (await readSome(path, mostRead, 'tail')) ?? '';
    // Where a cut falls depends on the length of every number in the output.
    return Buffer.byteLength(tail) < mostRead ? tail : tail.slice(tail.indexOf('\n') + 1);
  });
  return (await Promise.all(tails)).join('\n');
}
