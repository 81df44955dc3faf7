/** Removes runs: never one that a process works for, or that a queue has. */
import { existsSync, lstatSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../core/contracts/clock.ts';
import type { Environment } from '../core/contracts/process.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { hasSucceeded } from '../core/overridden.ts';
import { layout } from '../core/records/layout.ts';
import type { Holdout } from '../core/records/manifest.ts';
import { commitSchema } from '../core/records/result.ts';
import { sha256 } from '../core/sha256.ts';
import { dropHoldoutKey } from '../holdout/vault.ts';
import { removeTree } from '../platform/files/remove.ts';
import { acquireLock, livingOwners } from '../run/lock.ts';
import { openRun } from '../run/open-run.ts';
import { namedRun } from '../run/runs.ts';
import { isAtWork, type RunSummary, summaryOf } from '../run/summary.ts';
import { walk } from '../workspace/walk.ts';
import { isDelivered } from './delivered.ts';
import { removeGivenTexts } from './given-texts.ts';
import { askQueue, type JobHost } from './queued-run.ts';
import { endLeftovers, removeScratch } from './run/leftovers.ts';
import { buildingName } from './run/run-directory.ts';
import { processMarker } from './run/run-state.ts';

/** The run, if it may be removed; else why not, with what to do first. A queue that cannot be asked may have it. */
export async function removableRun(
  { id, dir }: Pick<RunSummary, 'id' | 'dir'>,
  { force }: { readonly force: boolean },
  host: JobHost,
): Promise<RunSummary | Refusal> {
  const { cwd, clock } = host;
  if (!(await holdsRun(dir)))
    return refused(
      'usage',
      `${dir} does not look like a run directory; nothing was removed`,
      'check the name',
    );
  // A worker would begin a removed run anew.
  const queued = await askQueue(dirname(dir), host, (queue) => queue.get(id));
  if (queued !== undefined && 'problems' in queued && !force) return queued;
  if (queued !== undefined && 'state' in queued)
    return refused(
      'usage',
      `run ${id} is in the queue (${queued.state}); nothing was removed`,
      `take it out first: factory queue drop ${namedRun(dir, cwd)}`,
    );
  const run = await summaryOf(id, dir, clock);
  const why = await keptFor(run);
  if (why === undefined || (force && why !== 'running')) return run;
  return refused('usage', `run ${id} ${keptWords[why]}; nothing was removed`, keptFix(run, why, cwd));
}

/** As the end of a sentence that begins with the run. */
export const keptWords: Readonly<Record<KeptFor, string>> = {
  running: 'is running',
  undelivered: 'has commits that were never delivered',
  unreadable: 'cannot be read, so that it may have commits that were never delivered',
};

function keptFix({ dir, status }: RunSummary, why: KeptFor, cwd: string): string {
  const run = namedRun(dir, cwd);
  const verb = hasSucceeded(status) ? 'deliver' : 'resume';
  const flag = status === 'overridden' ? ' --overridden' : '';
  const fixes: Readonly<Record<KeptFor, string>> = {
    running: `stop it first: factory stop ${run}`,
    undelivered: `factory ${verb} ${run}${flag}; --force removes them with the run`,
    unreadable: `factory verify ${run} shows more; --force removes it`,
  };
  return fixes[why];
}

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
  await removeGivenTexts(dirname(dir), id);
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
