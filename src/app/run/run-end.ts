/** The result of a run: from its state, and on the disk. */

import { once } from '../../core/once.ts';
import { layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { type RunResult, runResultSchema } from '../../core/records/result.ts';
import { endingFromRecord } from '../../core/step.ts';
import { treesOf } from '../../git/history.ts';
import { settleTree } from '../../platform/files/flush-tree.ts';
import { readPlain } from '../../platform/files/read.ts';
import { systemWords, writeFileAtomic } from '../../platform/files/write.ts';
import { withOwnHash } from '../../run/chain.ts';
import { visitsAmong } from '../../run/evidence.ts';
import type { Lock } from '../../run/lock.ts';
import { resultOf } from '../../run/result.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import type { Finished, Host } from '../types.ts';

/** The result of a run that has reached an exit; undefined for any other run. */
export async function finishedRun(
  manifest: Manifest,
  history: RunHistory,
  runDir: string,
  host: Pick<Host, 'cwd' | 'called'>,
): Promise<Finished | undefined> {
  const { ended } = history.checkpoint;
  return ended?.exit_node == null ? undefined : endOf(manifest, history, runDir, host);
}

/** The result of a run that has ended or is suspended; undefined for any other. */
export async function endOf(
  manifest: Manifest,
  { checkpoint: state, records, calls, whole }: RunHistory,
  runDir: string,
  host: Pick<Host, 'cwd' | 'called'>,
): Promise<Finished | undefined> {
  const { ended, parked } = state;
  const ending =
    ended !== null
      ? endingFromRecord(ended)
      : parked && { ok: false, exitNode: null, reason: `${parked.node}: ${parked.reason}`, code: 75 };
  if (ending === undefined) return undefined;
  const end = { state, ending, interrupted: false, ...(ended === null ? { parked } : {}) };
  const visits = visitsAmong(records, calls).now(whole);
  const result = await resultNow(runDir, manifest, end, visits, host);
  return { result, code: ending.code };
}

export const resultNow = (
  runDir: string,
  manifest: Manifest,
  end: Parameters<typeof resultOf>[3],
  visits: Parameters<typeof resultOf>[4],
  { cwd, called }: Pick<Host, 'cwd' | 'called'>,
): Promise<RunResult> => resultOf(manifest, runDir, treesOf, end, visits, cwd, called);

/** Writes `result.json`, which says that the run is complete: flushed, with its folder. */
export const writeResult = (runDir: string, result: RunResult): Promise<void> =>
  writeFileAtomic(layout(runDir).result, withOwnHash(result), {
    sync: true,
    syncFolder: true,
    evenFolder: true,
  });

/** Whether the file has the result of that end, not of an earlier one that was resumed. False if it cannot be read. */
export async function hasResult(runDir: string, end: RunResult): Promise<boolean> {
  const written = resultFactsSchema().safeParse(parsed(layout(runDir).result)).data;
  // A run may have stopped at the same node before, for another reason.
  const alike =
    end.exit_node !== null ||
    (written?.status === end.status && written.reason === end.reason && written.wake_at === end.wake_at);
  return written?.stages === end.stages && alike;
}

const resultFactsSchema = once(() =>
  runResultSchema().pick({ stages: true, status: true, reason: true, wake_at: true }),
);

const parsed = (path: string): unknown => {
  try {
    const read = readPlain(path);
    return read.kind === 'text' ? JSON.parse(read.text) : undefined;
  } catch {
    return undefined;
  }
};

/** Flushes a run, except its contents and history, which are flushed already; nor the workspace of one that is to be resumed, which
 *  restores it. */
export async function settleRun(runDir: string, isToBeResumed: boolean): Promise<void> {
  const { workspace, contents, history } = layout(runDir);
  await settleTree(runDir, isToBeResumed ? [workspace, contents, history] : [contents, history]);
}

/** Releases the run's lock; for a run that failed at no exit only after its result is printed, right before the process ends:
 *  a lock that was not released tells the next resume to report the end first instead of repeating the node. */
export async function releaseLock(lock: Lock, end: RunResult | undefined, host: Host): Promise<void> {
  // An error that broke the run may break this too, and is reported there. A lock that cannot be released is free as soon as
  // this process has ended.
  const release = () =>
    lock.release().catch((error: unknown) => {
      host.log('warn', 'could not release the lock of the run', { why: systemWords(error) });
    });
  if (end?.status === 'failed' && end.exit_node === null && host.atLast !== undefined) host.atLast(release);
  else await release();
}
