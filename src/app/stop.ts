/** Stops a run from outside, in order: its owner ends the node, saves the run and exits with 130, as after Ctrl-C. An owner on this host
 *  gets a signal; a request file reaches one that cannot be signalled, and one that is to finish its nodes first. */
import { basename } from 'node:path';
import type { Clock } from '../core/contracts/clock.ts';
import { isPaused } from '../core/outcome.ts';
import type { StopAsked } from '../core/records/stop-request.ts';
import { systemWords } from '../platform/files/write.ts';
import { interrupt } from '../platform/process/sweep.ts';
import { isAlive } from '../platform/process/table.ts';
import { latestLock } from '../run/lock.ts';
import { openRun } from '../run/open-run.ts';
import { type RunWorker, workerOf } from '../run/run-worker.ts';
import { leaveStopRequest, readStopRequest, removeStopRequest } from '../run/stop-request.ts';
import { type RunSummary, summaryOf } from '../run/summary.ts';
import { commandFor, readActs, recordAct } from './acts.ts';
import type { StopReport } from './answers.ts';
import { isInsideRun } from './given.ts';
import type { Host } from './types.ts';

export type StopSettings = {
  /** The user, or where the request came from: for the line in `acts.jsonl`. */
  readonly who: string;
  readonly clock: Clock;
  /** Whether the nodes that run now finish first. */
  readonly afterNode?: boolean | undefined;
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
  | { readonly kind: 'stopping'; readonly pid: number | undefined }
  /** It cannot be asked from here; `why` says who has the run. */
  | { readonly kind: 'refused'; readonly why: string; readonly fix: string }
);

/** What `factory stop` answers with, where the run could be asked. */
export const reportOfStop = (
  runDir: string,
  { kind, run }: Exclude<StopAnswer, { kind: 'refused' }>,
  next: string,
  host: Pick<Host, 'cwd' | 'called'>,
  afterNode = false,
): StopReport => ({
  ...{ schema_version: 1, run_id: basename(runDir), answer: kind, status: run.status, next },
  command: commandFor(runDir, ['stop', basename(runDir), ...(afterNode ? ['--after-node'] : [])], host),
});

/** Milliseconds between two looks. */
const lookMs = 100;

type Worker = Exclude<RunWorker, { kind: 'none' }>;
type Refused = readonly [why: string, fix: string];

/** Asks the process that owns the run to stop, and waits until it has. An owner that was signalled before is not signalled again: a
 *  second signal would end it at once. Records the act. */
export async function stopRun(id: string, runDir: string, settings: StopSettings): Promise<StopAnswer> {
  const { clock, timeoutMs, signal } = settings;
  const before = await summaryOf(id, runDir, clock);
  const worker = workerOf(runDir, clock, isPaused(before.status));
  if (worker.kind === 'none') return { kind: 'not_running', run: before };
  const bySignal = worker.kind === 'here' && (settings.afterNode !== true || worker.waits);
  const refused = bySignal ? interruptOwner(worker, runDir, settings) : await ask(worker, runDir, settings);
  if (refused !== undefined) return { kind: 'refused', run: before, why: refused[0], fix: refused[1] };
  const began = clock.monotonic();
  while (!isOver(worker, runDir, clock)) {
    const left = timeoutMs === undefined ? lookMs : timeoutMs - (clock.monotonic() - began);
    if (left <= 0 || signal?.aborted === true) {
      const pid = worker.kind === 'here' ? worker.id.pid : worker.pid;
      return { kind: 'stopping', pid, run: await summaryOf(id, runDir, clock) };
    }
    await clock.sleep(Math.min(left, lookMs), signal);
  }
  // Of an owner that ended before it could follow it.
  removeStopRequest(runDir, worker.epoch);
  return { kind: 'stopped', run: await summaryOf(id, runDir, clock) };
}

/** Whether the worker has the run no longer. */
function isOver(worker: Worker, runDir: string, clock: Clock): boolean {
  if (worker.kind === 'here' && !isAlive(worker.id)) return true;
  if (worker.kind === 'here' && worker.waits) return false;
  const now = workerOf(runDir, clock, false);
  return now.kind === 'none' || now.epoch !== worker.epoch;
}

/** Why the owner could not be interrupted, and what to do; undefined once it is. */
function interruptOwner(
  { id, stopped }: Extract<RunWorker, { kind: 'here' }>,
  runDir: string,
  settings: StopSettings,
): Refused | undefined {
  if (stopped) return suspendedOwner(id.pid);
  const owner = { pid: id.pid, start_time: id.startTime };
  const isAsked = ({ what, ...act }: { what: string; [field: string]: unknown }): boolean =>
    what === 'stop' &&
    act['pid'] === owner.pid &&
    act['start_time'] === owner.start_time &&
    act['after_node'] !== true;
  if (readActs(runDir).some(isAsked)) return undefined;
  if (interrupt(id) === 'denied')
    return [`process ${id.pid}, which has the run, belongs to another user`, 'stop it as that user'];
  // After the signal: an act without one would keep the next stop from sending it.
  recordStop(runDir, owner, settings);
  return undefined;
}

const suspendedOwner = (pid: number): Refused => [
  `process ${pid}, which has the run, is suspended by a signal (SIGSTOP, Ctrl-Z)`,
  `continue it with kill -CONT ${pid}, then stop the run again`,
];

/** Leaves a request for the owner. Why it could not, and what to do; undefined once it is there. */
async function ask(worker: Worker, runDir: string, settings: StopSettings): Promise<Refused | undefined> {
  if (worker.kind === 'here' && worker.stopped) return suspendedOwner(worker.id.pid);
  const read = await openRun(runDir).manifest();
  if (read.ok && isInsideRun(runDir, read.manifest))
    return ['this is a process of the run itself: its nodes cannot stop it', 'stop it from outside of it'];
  const { who, clock, afterNode: after_node = false } = settings;
  const { epoch } = worker;
  const at = clock.now().toISOString();
  try {
    await leaveStopRequest(runDir, { schema_version: 1, by: who, at, after_node, why: 'person', epoch });
  } catch (error) {
    const where = worker.kind === 'elsewhere' ? `${worker.why}, and the` : 'the';
    return [
      `${where} request to stop cannot be written: ${systemWords(error)}`,
      worker.kind === 'elsewhere' ? 'stop it there: factory stop, or Ctrl-C' : 'stop it without --after-node',
    ];
  }
  recordStop(runDir, { epoch, ...(after_node ? { after_node } : {}) }, settings);
  return undefined;
}

function recordStop(
  runDir: string,
  details: Readonly<Record<string, string | number | boolean>>,
  { who, clock, warn }: StopSettings,
): void {
  try {
    recordAct(runDir, { who, what: 'stop', ...details }, clock);
  } catch (error) {
    warn?.(`acts.jsonl cannot be written: ${systemWords(error)}`);
  }
}

/** Asks the owner of a run to stop so that another worker continues it. False where no process executes the run. Throws the system's
 *  error. */
export async function drainRun(
  runDir: string,
  { worker: by, atOnce, clock }: { readonly worker: string; readonly atOnce: boolean; readonly clock: Clock },
): Promise<boolean> {
  const owner = workerOf(runDir, clock, false);
  if (owner.kind === 'none') return false;
  const at = clock.now().toISOString();
  const { epoch } = owner;
  await leaveStopRequest(runDir, { schema_version: 1, by, at, after_node: !atOnce, why: 'drain', epoch });
  return true;
}

/** Who asked the last owner of a run to stop, however that has ended: a person, or a worker that drains. */
export function stoppedBy(runDir: string): StopAsked['why'] | undefined {
  const last = latestLock(runDir)?.read;
  if (last?.kind !== 'read') return undefined;
  const { epoch, pid, start_time } = last.lock;
  const byPerson = readActs(runDir).some(
    ({ what, ...act }) =>
      what === 'stop' && (act['epoch'] === epoch || (act['pid'] === pid && act['start_time'] === start_time)),
  );
  if (byPerson) return 'person';
  const request = readStopRequest(runDir);
  if (request?.epoch === epoch) return request.why;
  const history = openRun(runDir).history();
  if (!history.ok || history.last.type !== 'Stopped' || history.last.epoch !== epoch) return undefined;
  return history.last.request?.why;
}
