/** Removes runs: never one that a process works for. */
import { existsSync, lstatSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../core/contracts/clock.ts';
import type { Environment } from '../core/contracts/process.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { layout } from '../core/records/layout.ts';
import type { Holdout } from '../core/records/manifest.ts';
import { commitSchema } from '../core/records/result.ts';
import { sha256 } from '../core/sha256.ts';
import { dropHoldoutKey } from '../holdout/vault.ts';
import { removeTree } from '../platform/files/remove.ts';
import { acquireLock, livingOwners } from '../run/lock.ts';
import { openRun } from '../run/open-run.ts';
import { isAtWork, type RunSummary } from '../run/summary.ts';
import { walk } from '../workspace/walk.ts';
import { isDelivered } from './delivered.ts';
import { endLeftovers, removeScratch } from './run/leftovers.ts';
import { buildingName } from './run/run-directory.ts';
import { processMarker } from './run/run-state.ts';

/** Why a run is kept: a process works for it; its commits would be lost; its files do not show whether they would. */
export type KeptFor = 'running' | 'undelivered' | 'unreadable';

/** Undefined for a run that can be removed without a loss. */
export async function keptFor(run: RunSummary): Promise<KeptFor | undefined> {
  if (isAtWork(run)) return 'running';
  if (run.status === 'unreadable') return 'unreadable';
  const read = openRun(run.dir).history();
  if (!read.ok) return 'unreadable';
  // Also of a run that did not complete: a resume may finish what its commits have begun.
  const made = commitSchema().array().safeParse(read.checkpoint.context['build.commits']);
  const commits = made.success ? made.data : [];
  return isDelivered(run.dir, { status: 'completed', commits }) === false ? 'undelivered' : undefined;
}

/** Whether a directory is that of a run, and not of something else with a file of the same name. */
export const holdsRun = async (dir: string): Promise<boolean> =>
  existsSync(layout(dir).journal) || (await openRun(dir).manifest()).ok;

/** Removes the run's directory, with the processes that a killed engine left running and the key of its holdout; answers with the
 *  bytes that this frees. The directory gets a hidden name first: a kill leaves no half of a run in the lists, and the next
 *  run, `rm` or `prune` removes the rest. Refuses if another process has the run. */
export async function removeRun(
  { id, dir }: Pick<RunSummary, 'id' | 'dir'>,
  { clock, env }: { readonly clock: Clock; readonly env: Environment },
): Promise<{ readonly freed: number } | Refusal> {
  const freed = bytesOf(dir);
  const answer = await acquireLock(dir, { clock, removes: true });
  if (answer.kind === 'refused') return refused('run-locked', answer.why, answer.fix ?? `factory stop ${id}`);
  const { lock } = answer;
  const reader = openRun(dir);
  const read = await reader.manifest();
  const unique = sha256(`${dir}\0${clock.monotonic()}\0${lock.epoch}`).slice(0, 16);
  const hidden = join(dirname(dir), buildingName(id, unique));
  let key: Holdout | undefined;
  try {
    const history = reader.history();
    // A copy of a run directory has the key of the original.
    if (read.ok && processMarker(dir, read.manifest) === read.manifest.marker) key = read.manifest.holdout;
    if (read.ok && history.ok)
      await endLeftovers(dir, read.manifest, history.checkpoint, livingOwners(dir)).catch(() => 0);
    await removeScratch(dir).catch(() => {});
    lock.assertOwner();
    renameSync(dir, hidden);
  } finally {
    await lock.release();
  }
  if (key !== undefined) await dropHoldoutKey(key, env);
  await removeTree(hidden);
  return { freed };
}

/** Bytes that the files of a folder take on the disk. */
export function bytesOf(folder: string): number {
  let bytes = 0;
  const skip = () => {};
  for (const { path, kind } of walk(folder, { denied: skip }))
    if (kind === 'file')
      bytes += (lstatSync(join(folder, path), { throwIfNoEntry: false })?.blocks ?? 0) * 512;
  return bytes;
}
