/** Executes a run: takes its lock, opens what it needs, runs the loop, and closes everything. */
import { realpathSync } from 'node:fs';
import { type Refusal, refused } from '../../core/diagnostic.ts';
import { isPaused } from '../../core/outcome.ts';
import { layout } from '../../core/records/layout.ts';
import { StopByRequest } from '../../core/records/stop-request.ts';
import { runLoop } from '../../engine/loop.ts';
import { parkAbove } from '../../engine/shared-budget.ts';
import { revealHoldout, revealHoldoutIfPossible } from '../../holdout/mount.ts';
import { diskError } from '../../platform/files/disk-error.ts';
import { beforeRemaking, fence, Superseded } from '../../platform/files/fence.ts';
import { closeAll } from '../../run/journal.ts';
import { acquireLock } from '../../run/lock.ts';
import type { RunReader } from '../../run/open-run.ts';
import { namedRun } from '../../run/runs.ts';
import type { Finished, Host, RunFlags } from '../types.ts';
import type { NewRun } from './create.ts';
import { diskStopOf, giveRoom, keepRoom, suspendedByDisk } from './full-disk.ts';
import { removeScratch } from './leftovers.ts';
import type { RunLeft } from './notify.ts';
import type { OwnRun, ResumedRun } from './own-run.ts';
import { releaseLock, resultNow, settleRun, writeResult } from './run-end.ts';
import { runParts } from './run-parts.ts';
import type { WatchedHost } from './stop-watch.ts';

/** Milliseconds within which one signal may arrive twice: `npx` passes on the signal that the terminal sends to all processes. */
const oneSignalMs = 100;

const waitFor = (runDir: string, cwd: string): string => {
  const run = namedRun(runDir, cwd);
  return `wait for its end: factory wait ${run}; or stop it: factory stop ${run}`;
};

/** Takes the run's lock, restores its workspace to the checkpoint, and runs it to its end. */
export async function executeRun(
  task: NewRun | ResumedRun,
  reader: RunReader,
  flags: RunFlags,
  host: WatchedHost,
): Promise<Finished | Refusal> {
  const { runDir } = task;
  const takeOver = flags.takeOver === true;
  const answer = await acquireLock(runDir, { clock: host.clock, takeOver }).catch((error: unknown) => {
    throw diskStopOf(runDir, error, undefined) ?? error;
  });
  if (answer.kind === 'refused')
    return refused('run-locked', answer.why, answer.fix ?? answer.takeOver ?? waitFor(runDir, host.cwd));
  const { lock } = answer;
  const over = new AbortController();
  const signal = AbortSignal.any([host.signal, lock.lost]);
  // After another process has taken over the run, this one changes nothing in it, not even with calls in progress.
  const folders = new Set([runDir, realpathSync.native(runDir)]);
  const fences = [...folders].map((folder) => fence(folder, lock.assertOwner, lock.successor));
  host.stops.began(lock.epoch);
  reportStop(host, over.signal);
  keepRoom(runDir);
  const run: OwnRun = { runDir, task, reader, flags, host, lock, signal, open: [] };
  let left: RunLeft | undefined;
  try {
    const ended = await runToEnd(run);
    if ('result' in ended) left = ended;
    return ended;
  } catch (error) {
    const cause = causeOfError(run, error);
    const ended = await suspendedByDisk(cause, run);
    if (ended !== undefined) {
      left = ended;
      return ended;
    }
    left = brokenBy(cause, run);
    throw cause;
  } finally {
    over.abort();
    host.stops.ended();
    await closeAll(run.open);
    giveRoom(runDir);
    await releaseLock(lock, run.ending, host);
    for (const open of fences) open();
    if (left !== undefined) await sendNotice(runDir, left, host);
  }
}

/** Of a suspended run at once: this process may wait for its time. Of any other right before the process ends, when the result is
 *  printed and the lock released: a slow receiver delays neither. */
async function sendNotice(runDir: string, left: RunLeft, { notify, atLast }: Host): Promise<void> {
  if (notify === undefined) return;
  const send = () => notify(runDir, left);
  const waits = 'result' in left && isPaused(left.result.status);
  if (waits || atLast === undefined) await send();
  else atLast(send);
}

/** What a notice says of a run that an error has ended; nothing of one that another process has taken over. */
function brokenBy(cause: unknown, { again = '' }: OwnRun): RunLeft | undefined {
  if (cause instanceof Superseded) return undefined;
  return { broke: cause instanceof Error ? cause.message : String(cause), next: again };
}

async function runToEnd(run: OwnRun): Promise<Finished | Refusal> {
  const opened = await runParts.open(run);
  if ('problems' in opened || 'result' in opened) return opened;
  const { runDir, host } = run;
  const at = layout(runDir);
  const end = await runLoop(opened);
  await removeScratch(runDir);
  const { parked } = end;
  if (parked !== undefined) await parkAbove(host.env, parked);
  const visits = opened.visits();
  for (const one of run.open.toReversed()) await one.close();
  // The result takes it, and nothing of it needs a flush.
  giveRoom(runDir);
  revealHoldout(at.workspace, run.sealed);
  run.sealed = undefined; // The files are placed; placing them again on a full disk would lose them.
  await settleRun(runDir, end.interrupted || parked !== undefined);
  const result = await resultNow(runDir, opened.manifest, end, visits, host);
  await writeResult(runDir, result);
  run.ending = result;
  return { result, code: end.ending.code };
}

/** What ended the run: the loss of its lock or of its directory comes before the error that followed from it. */
function causeOfError({ runDir, lock, sealed, again }: OwnRun, error: unknown): unknown {
  const at = layout(runDir);
  lock.assertOwner();
  if (!(error instanceof Superseded)) beforeRemaking(at.manifest);
  if (diskError(error) !== undefined) revealHoldoutIfPossible(at.workspace, sealed);
  return diskStopOf(runDir, error, again) ?? error;
}

/** Logs at the first signal what it does and what a second one would do. */
function reportStop({ signal, clock, log }: Host, over: AbortSignal): void {
  const report = async () => {
    await clock.sleep(oneSignalMs, over);
    if (!over.aborted)
      log(
        'warn',
        'stopping: ending the node and saving the run; a second signal stops at once',
        signal.reason instanceof StopByRequest
          ? { by: signal.reason.request.by }
          : { signal: String(signal.reason) },
      );
  };
  if (signal.aborted) return;
  signal.addEventListener('abort', () => void report(), { once: true, signal: over });
}
