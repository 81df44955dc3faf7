/** What people change in the queue: move, hold and drop jobs. Each leaves a line in `acts.jsonl`, where the run has begun. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { recordAct } from '../app/acts.ts';
import { removeGivenTexts } from '../app/given-texts.ts';
import { stopRun } from '../app/stop.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { JobChange, JobQueue } from '../core/contracts/job-queue.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { dueTime } from '../core/due-time.ts';
import type { Json } from '../core/json.ts';
import { type JobReason, priorityBound, type QueuedJob } from '../core/records/job.ts';
import type { QueueChange } from '../core/records/queue-report.ts';
import { systemWords } from '../platform/files/write.ts';
import { findJob } from './find-job.ts';

/** One of them. */
export type MoveRequest =
  | { readonly to: 'first' | 'last' | 'now' }
  | { readonly priority: number }
  | { readonly notBefore: string };

export type ChangeHost = {
  /** Absolute. */
  readonly runsDir: string;
  readonly clock: Clock;
  readonly who: string;
  /** Milliseconds to wait for a run that has to stop; without it there is no limit. */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  readonly warn?: (message: string) => void;
};

/** Moves a job that no worker has: in the order of the due ones, or to another time. */
export async function moveJobs(
  queue: JobQueue,
  name: string,
  request: MoveRequest,
  host: ChangeHost,
): Promise<QueueChange | Refusal> {
  const now = host.clock.now();
  const due = 'notBefore' in request ? dueTime(request.notBefore, now) : undefined;
  if (due !== undefined && 'problem' in due) return refused('usage', `--not-before: ${due.problem}`, due.fix);
  const found = await findJob(queue, name);
  if ('problems' in found) return found;
  const { run_id } = found.job;
  const change = await changeOf(queue, found, request, due?.at, now);
  if ('problems' in change) return change;
  const changed = await queue.change(run_id, change);
  if (changed.kind === 'none') return left(found, host);
  if (changed.kind === 'elsewhere')
    return refused(
      'job-running',
      `run ${run_id} runs already${changed.job.state === 'running' ? ` on ${changed.job.worker}` : ''}`,
      `factory queue hold ${run_id} puts it on hold after its node, factory stop ${run_id} stops it`,
    );
  const answer = changeReport('moved', changed.job, host);
  record(host, changed.job, {
    change: 'move',
    state: answer.state,
    due_at: answer.due_at,
    priority: answer.priority,
  });
  return answer;
}

type Change = Parameters<JobQueue['change']>[1];

async function changeOf(
  queue: JobQueue,
  { job }: QueuedJob,
  request: MoveRequest,
  due: Date | undefined,
  now: Date,
): Promise<Change | Refusal> {
  if ('priority' in request) return { priority: request.priority };
  if (due !== undefined) {
    const until = due.toISOString();
    const reason = reasonOf('not_before', 'moved to this time', now);
    return { target: { dueAt: until }, reason: { ...reason, until } };
  }
  if (!('to' in request) || request.to === 'now') return { target: 'now', reason: null };
  const first = request.to === 'first';
  const others = (await queue.list()).filter(
    (one) => one.job.run_id !== job.run_id && (one.state === 'waiting' || one.state === 'later'),
  );
  const priorities = others.map((one) => one.job.priority);
  if (priorities.length === 0) return {};
  const priority = first ? Math.max(...priorities) + 1 : Math.min(...priorities) - 1;
  if (Math.abs(priority) <= priorityBound) return { priority };
  return refused(
    'usage',
    `another job has the ${first ? 'highest' : 'lowest'} priority, ${first ? '' : '-'}${priorityBound}`,
    'change its priority first: factory queue move RUN --priority 0',
  );
}

const reasonOf = (kind: JobReason, text: string, now: Date) => ({ kind, text, at: now.toISOString() });

/** Puts a job on hold until it is moved; a run that a worker executes finishes its node first. */
export async function holdJob(
  queue: JobQueue,
  name: string,
  why: string,
  host: ChangeHost,
): Promise<QueueChange | Refusal> {
  const words = why.replace(/\s+/g, ' ').trim();
  const text = `held by ${host.who}${words === '' ? '' : `: ${words}`}`;
  const reason = reasonOf('person', text, host.clock.now());
  const change = (id: string) => queue.change(id, { target: 'held', reason });
  const held = await whileStopping(queue, name, change, true, host);
  if ('problems' in held || held.answer !== 'done') return held;
  record(host, held.job, { change: 'hold', ...(words === '' ? {} : { why: words }) });
  return changeReport('held', held.job, host);
}

/** Takes a job out of the queue; a run that a worker executes is stopped first. The directory of a run that has begun stays. */
export async function dropJob(
  queue: JobQueue,
  name: string,
  host: ChangeHost,
): Promise<QueueChange | Refusal> {
  const dropped = await whileStopping(queue, name, (id) => queue.cancel(id), false, host);
  if ('problems' in dropped || dropped.answer !== 'done') return dropped;
  record(host, dropped.job, { change: 'drop' });
  const { run_id } = dropped.job.job;
  if (!existsSync(join(host.runsDir, run_id))) await removeGivenTexts(host.runsDir, run_id);
  return { ...changeReport('dropped', dropped.job, host), state: null, due_at: null };
}

/** Milliseconds between two looks. */
const lookMs = 100;

/** Changes the job, with its run stopped where a worker has it: that worker puts it back then. */
async function whileStopping(
  queue: JobQueue,
  name: string,
  change: (runId: string) => Promise<JobChange>,
  afterNode: boolean,
  host: ChangeHost,
): Promise<Refusal | QueueChange | { readonly answer: 'done'; readonly job: QueuedJob }> {
  const found = await findJob(queue, name);
  if ('problems' in found) return found;
  const { run_id } = found.job;
  const dir = join(host.runsDir, run_id);
  const { clock, signal, timeoutMs } = host;
  const began = clock.monotonic();
  const rest = (): number | undefined =>
    timeoutMs === undefined ? undefined : timeoutMs - (clock.monotonic() - began);
  for (;;) {
    const changed = await change(run_id);
    if (changed.kind === 'done') return { answer: 'done', job: changed.job };
    if (changed.kind === 'none') return left(found, host);
    if ((rest() ?? 1) <= 0 || signal?.aborted === true) return changeReport('stopping', changed.job, host);
    // The worker may be about to start its engine.
    if (existsSync(dir)) {
      const stopped = await stopRun(run_id, dir, { ...host, afterNode, timeoutMs: rest() });
      if (stopped.kind === 'refused')
        return refused('stop', `run ${run_id} cannot be stopped from here: ${stopped.why}`, stopped.fix, 1);
    }
    await clock.sleep(lookMs, signal);
  }
}

/** Of a job that left the queue meanwhile. */
const left = (queued: QueuedJob, host: ChangeHost): QueueChange => ({
  ...changeReport('ended', queued, host),
  ...{ state: null, due_at: null },
});

const changeReport = (
  answer: QueueChange['answer'],
  queued: QueuedJob,
  { runsDir }: Pick<ChangeHost, 'runsDir'>,
): QueueChange => ({
  ...{ schema_version: 1, run_id: queued.job.run_id, title: queued.job.title, answer, state: queued.state },
  ...{ due_at: queued.state === 'later' ? queued.due_at : null, priority: queued.job.priority },
  has_run: existsSync(join(runsDir, queued.job.run_id)),
});

/** The line in `acts.jsonl`. Without it, on a full disk, the act has happened all the same. */
function record(
  { runsDir, who, clock, warn }: ChangeHost,
  { job }: QueuedJob,
  act: { readonly change: string; readonly [detail: string]: Json },
): void {
  const dir = join(runsDir, job.run_id);
  if (!existsSync(dir)) return;
  try {
    recordAct(dir, { who, what: 'queue', ...act }, clock);
  } catch (error) {
    warn?.(`acts.jsonl cannot be written: ${systemWords(error)}`);
  }
}
