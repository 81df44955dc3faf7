/** Stops a run from outside, in order: its owner ends the node, saves the run and exits with 130, as after Ctrl-C. */
import { basename } from 'node:path';
import type { Clock } from '../core/contracts/clock.ts';
import type { ProcessId } from '../core/contracts/process.ts';
import { isPaused } from '../core/outcome.ts';
import { systemWords } from '../platform/files/write.ts';
import { interrupt } from '../platform/process/sweep.ts';
import { isAlive } from '../platform/process/table.ts';
import { type RunWorker, workerOf } from '../run/lock.ts';
import { type RunSummary, summaryOf } from '../run/summary.ts';
import { commandFor, readActs, recordAct } from './acts.ts';
import type { StopReport } from './answers.ts';
import type { Host } from './types.ts';

export type StopRequest = {
  /** The user, or where the request came from: for the line in `acts.jsonl`. */
  readonly who: string;
  readonly clock: Clock;
  /** Milliseconds to wait for the end; without it there is no limit. */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait; the run stops all the same. */
  readonly signal?: AbortSignal | undefined;
  readonly warn?: ((message: string) => void) | undefined;
};

/** `run` is how the run stands afterwards. */
export type StopAnswer = { readonly run: RunSummary } & (
  | { readonly kind: 'stopped' | 'not_running' }
  /** It was asked to stop and has not yet: the time is up, or the wait was ended. */
  | { readonly kind: 'stopping'; readonly pid: number }
  /** It cannot be asked from here; `why` says who has the run. */
  | { readonly kind: 'refused'; readonly why: string; readonly fix: string }
);

/** What `factory stop` answers with, where the run could be asked. */
export const reportOfStop = (
  runDir: string,
  { kind, run }: Exclude<StopAnswer, { kind: 'refused' }>,
  next: string,
  host: Pick<Host, 'cwd' | 'called'>,
): StopReport => ({
  ...{ schema_version: 1, run_id: basename(runDir), answer: kind, status: run.status, next },
  command: commandFor(runDir, ['stop', basename(runDir)], host),
});

/** Milliseconds between two looks. */
const lookMs = 100;

/** Asks the process that owns the run to stop, and waits until it has. An owner that was asked before is not asked again: a second
 *  signal would end it at once. Records the act. */
export async function stopRun(
  id: string,
  runDir: string,
  { who, clock, timeoutMs, signal, warn }: StopRequest,
): Promise<StopAnswer> {
  const before = await summaryOf(id, runDir, clock);
  const worker = workerOf(runDir, clock, isPaused(before.status));
  if (worker.kind === 'none') return { kind: 'not_running', run: before };
  if (worker.kind === 'elsewhere')
    return refusedTo(before, worker.why, 'stop it there: factory stop, or Ctrl-C');
  const asked = ask(worker, runDir, { who, clock, warn });
  if (asked !== undefined) return refusedTo(before, ...asked);
  const isOver = (): boolean => !isAlive(worker.id) || (!worker.waits && !isOwner(runDir, worker.id, clock));
  const began = clock.monotonic();
  while (!isOver()) {
    const left = timeoutMs === undefined ? lookMs : timeoutMs - (clock.monotonic() - began);
    if (left <= 0 || signal?.aborted === true)
      return { kind: 'stopping', pid: worker.id.pid, run: await summaryOf(id, runDir, clock) };
    await clock.sleep(Math.min(left, lookMs), signal);
  }
  return { kind: 'stopped', run: await summaryOf(id, runDir, clock) };
}

const refusedTo = (run: RunSummary, why: string, fix: string): StopAnswer => ({
  kind: 'refused',
  run,
  why,
  fix,
});

/** Why it could not be asked, and what to do; undefined once it is asked. */
function ask(
  { id, stopped }: Extract<RunWorker, { kind: 'here' }>,
  runDir: string,
  { who, clock, warn }: Pick<StopRequest, 'who' | 'clock' | 'warn'>,
): readonly [why: string, fix: string] | undefined {
  if (stopped)
    return [
      `process ${id.pid}, which has the run, is suspended by a signal (SIGSTOP, Ctrl-Z)`,
      `continue it with kill -CONT ${id.pid}, then stop the run again`,
    ];
  const owner = { pid: id.pid, start_time: id.startTime };
  const isAsked = ({ what, ...act }: { what: string; [field: string]: unknown }): boolean =>
    what === 'stop' && act['pid'] === owner.pid && act['start_time'] === owner.start_time;
  if (readActs(runDir).some(isAsked)) return undefined;
  if (interrupt(id) === 'denied')
    return [`process ${id.pid}, which has the run, belongs to another user`, 'stop it as that user'];
  try {
    // After the signal: an act without one would keep the next stop from sending it.
    recordAct(runDir, { who, what: 'stop', ...owner }, clock);
  } catch (error) {
    warn?.(`acts.jsonl cannot be written: ${systemWords(error)}`);
  }
  return undefined;
}

function isOwner(runDir: string, { pid }: ProcessId, clock: Clock): boolean {
  const worker = workerOf(runDir, clock, false);
  return worker.kind === 'here' && worker.id.pid === pid;
}
