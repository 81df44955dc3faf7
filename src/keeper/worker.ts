/** The loop of a worker (`factory keep`): takes jobs of a queue as long as it has free slots, and ends when it has drained. */
import type { ClaimRequest, JobQueue } from '../core/contracts/job-queue.ts';
import { messageOf } from '../run/unreadable.ts';
import { KeptJobs, type KeptJobsHost } from './kept-jobs.ts';
import { planWork, type WorkerPlan, type WorkFacts } from './worker-plan.ts';

export type WorkerSettings = Pick<WorkFacts, 'slots' | 'minFreeBytes' | 'drainTimeoutMs'> & {
  /** Without them it takes jobs of any label. */
  readonly labels: readonly string[] | undefined;
};

export type WorkerHost = Omit<KeptJobsHost, 'wake'> & {
  /** Ends the worker: its engines stop after their nodes; `atOnce`: at once. */
  readonly drain: AbortSignal;
  readonly atOnce: AbortSignal;
  readonly freeBytes: () => number;
  /** How many jobs of a label may run at once. */
  readonly mostOfLabel: () => Readonly<Record<string, number>>;
  /** Called at each look, with what the worker does; does what is to be done besides. */
  readonly look: (status: WorkerStatus) => Promise<void>;
};

export type WorkerStatus = {
  readonly busy: number;
  readonly draining: boolean;
  /** Since the worker began: engines that have begun a run, and jobs of dead workers. */
  readonly engine_starts: number;
  readonly take_overs: number;
  /** Why it takes nothing; empty where it does. */
  readonly refuses: string;
  /** Runs that it cannot execute, each with the reason. */
  readonly leaves: ReadonlyMap<string, string>;
};

/** Milliseconds between two looks: at the queue, at engines that report nothing, and at what the worker could not execute. */
const lookMs = { queue: 1000, engines: 250, leaves: 30_000 } as const;

/** Works until it has drained. */
export async function keepJobs(queue: JobQueue, settings: WorkerSettings, host: WorkerHost): Promise<void> {
  const worker = new Worker(queue, settings, host);
  const ends = queue.onChange(worker.wake);
  for (const signal of [host.drain, host.atOnce])
    signal.addEventListener('abort', worker.wake, { once: true });
  try {
    while (!(await worker.look())) await worker.rest();
  } finally {
    ends();
  }
}

class Worker {
  private readonly jobs: KeptJobs;
  private drainSince: number | undefined;
  private lookedAt = Number.NEGATIVE_INFINITY;
  private reviewedAt = Number.NEGATIVE_INFINITY;
  private takeOvers = 0;
  private refuses = '';
  private trouble = '';
  private waking = new AbortController();

  constructor(
    private readonly queue: JobQueue,
    private readonly settings: WorkerSettings,
    private readonly host: WorkerHost,
  ) {
    this.jobs = new KeptJobs(queue, { ...host, wake: this.wake });
  }

  readonly wake = (): void => this.waking.abort();

  async rest(): Promise<void> {
    await this.host.clock.sleep(this.jobs.watches ? lookMs.engines : lookMs.queue, this.waking.signal);
    this.waking = new AbortController();
  }

  /** Looks at everything once; whether that was the last time. */
  async look(): Promise<boolean> {
    const now = this.host.clock.monotonic();
    if (this.host.drain.aborted) this.drainSince ??= this.beginDrain(now);
    const isTime = now - this.lookedAt >= lookMs.queue;
    if (isTime) this.lookedAt = now;
    const troubles: string[] = [];
    const part = (work: () => Promise<unknown>) =>
      work().catch((error: unknown) => void troubles.push(messageOf(error)));
    if (isTime) await part(() => this.extend());
    this.jobs.watchEngines();
    await part(() => this.jobs.settle(this.drainSince !== undefined));
    const plan = this.plan(now);
    for (const { runId, how } of plan.stops) await part(() => this.jobs.stop(runId, how));
    if (plan.most > 0) await part(() => this.take(plan.most, isTime));
    this.report(plan.refuses, troubles[0]);
    await part(() => this.host.look(this.status(plan)));
    return plan.isOver;
  }

  /** Says that the worker lives and has its jobs. */
  private async extend(): Promise<void> {
    const { monotonic } = this.host.clock;
    for (const id of await this.queue.extend(this.jobs.all.map(({ runId }) => runId))) this.jobs.lose(id);
    if (monotonic() - this.reviewedAt < lookMs.leaves) return;
    this.reviewedAt = monotonic();
    await this.jobs.reviewLeaves();
  }

  private plan(now: number): WorkerPlan {
    const { drainSince: since } = this;
    const { pausedUntil, all: jobs } = this.jobs;
    const drain = since === undefined ? undefined : { since, atOnce: this.host.atOnce.aborted };
    const ours = { now, jobs, drain, pausedUntil };
    const facts = { overdue: this.queue.overdue(), freeBytes: this.host.freeBytes() };
    return planWork({ ...this.settings, ...ours, ...facts });
  }

  /** Jobs that dead workers have left go first: their engines may live. */
  private async take(most: number, looksForDead: boolean): Promise<void> {
    const { labels } = this.settings;
    const leaves = new Set(this.jobs.leaves.keys());
    const request: ClaimRequest = { most, labels, leaves, mostOfLabel: this.host.mostOfLabel() };
    const left = looksForDead ? await this.queue.takeOver(request) : [];
    for (const { job, from } of left) {
      this.host.log('warn', 'took a job over from a worker that is gone', { run: job.run_id, from });
      this.jobs.add(job, 'take_over');
    }
    this.takeOvers += left.length;
    const rest = most - left.length;
    const due = rest > 0 ? await this.queue.claim({ ...request, most: rest }) : [];
    for (const { job } of due) this.jobs.add(job, 'claim');
    if (left.length + due.length > 0) await this.jobs.settle(false);
  }

  private status({ refuses }: WorkerPlan): WorkerStatus {
    const { leaves, all, starts: engine_starts } = this.jobs;
    const draining = this.drainSince !== undefined;
    return { busy: all.length, draining, refuses, leaves, engine_starts, take_overs: this.takeOvers };
  }

  private beginDrain(now: number): number {
    const { drain, log } = this.host;
    const message = 'draining: takes no jobs any more, and its engines stop after their nodes';
    log('info', message, { signal: String(drain.reason), engines: this.jobs.all.length });
    return now;
  }

  /** A trouble (of a disk, of a database) passes or stays: it is reported when it begins and when it is over. */
  private report(refuses: string, trouble = ''): void {
    const { log } = this.host;
    if (refuses !== this.refuses && refuses !== '') log('warn', 'takes no jobs', { why: refuses });
    if (trouble !== this.trouble && trouble !== '')
      log('warn', 'the queue cannot be used; trying again', { why: trouble });
    if (trouble === '' && this.trouble !== '') log('info', 'the queue can be used again');
    this.refuses = refuses;
    this.trouble = trouble;
  }
}
