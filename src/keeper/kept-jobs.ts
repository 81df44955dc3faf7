/** The jobs of a worker: each is looked at when it was taken and when its engine has ended, and then put where it belongs. */
import type { Clock } from '../core/contracts/clock.ts';
import type { JobQueue } from '../core/contracts/job-queue.ts';
import type { Environment } from '../core/contracts/process.ts';
import type { Log } from '../core/contracts/watcher.ts';
import type { Job } from '../core/records/job.ts';
import { workerOf } from '../run/run-worker.ts';
import { type EngineHost, type EngineMoment, runDirOf, startEngine } from './engines.ts';
import { whyNotExecutable } from './executable.ts';
import { type JobStep, nextOfJob, waitAfterStarts } from './job-end.ts';
import { isAnswered, standingOfRun } from './run-standing.ts';
import type { EngineStop, KeptJob } from './worker-plan.ts';

export type KeptJobsHost = EngineHost & {
  readonly clock: Clock;
  readonly env: Environment;
  readonly log: Log;
  /** Asks the engine of a run to stop so that another worker continues it. False where none has the run. */
  readonly stop: (runDir: string, atOnce: boolean) => Promise<boolean>;
  /** Notifies that a run needs a person; no engine does. */
  readonly needsPerson: (job: Job, why: string) => void;
  /** Calls for a look: an engine has ended. */
  readonly wake: () => void;
};

type Kept = { -readonly [K in keyof KeptJob]: KeptJob[K] } & {
  readonly job: Job;
  /** What the job is to be looked at for, in the phase `settling`. */
  moment: EngineMoment;
  /** Interrupts a start. */
  readonly cancel: AbortController;
  /** Its engine is no child of this process. */
  watched: boolean;
  /** Milliseconds to wait before its next start, once it is known for the moment. */
  waitMs?: number | undefined;
};

type Put = Extract<JobStep, { do: 'put' }>;

/** Of so many runs a worker remembers how often it has started them in vain. */
const mostPlaces = 10_000;

export class KeptJobs {
  private readonly kept = new Map<string, Kept>();
  /** Where runs were when an engine of theirs ended last, and how often in a row. */
  private readonly places = new Map<string, { readonly execution: string; readonly times: number }>();
  private failedStarts = 0;
  /** Engines that have begun a run. */
  starts = 0;
  /** Runs that this worker cannot execute, each with the reason. */
  readonly leaves = new Map<string, string>();
  /** Engines could not be started: until then (monotonic) none is. */
  pausedUntil = 0;

  constructor(
    private readonly queue: JobQueue,
    private readonly host: KeptJobsHost,
  ) {}

  get all(): readonly KeptJob[] {
    return [...this.kept.values()];
  }

  /** Whether engines have to be looked at that report nothing. */
  get watches(): boolean {
    return [...this.kept.values()].some(({ watched }) => watched);
  }

  add(job: Job, at: 'claim' | 'take_over'): void {
    const { run_id: runId } = job;
    const cancel = new AbortController();
    const kept: Kept = {
      job,
      runId,
      cancel,
      moment: { at },
      phase: 'settling',
      asked: 'no',
      watched: false,
    };
    this.kept.set(runId, kept);
  }

  /** Another worker has the job now. Its engine goes on: the other worker watches it. */
  lose(runId: string): void {
    if (this.kept.delete(runId))
      this.host.log('warn', 'another worker has taken the job over', { run: runId });
  }

  /** Whether this worker can execute now what it could not before, and what has left the queue meanwhile. */
  async reviewLeaves(): Promise<void> {
    if (this.leaves.size === 0) return;
    const queued = new Set((await this.queue.list()).map(({ job }) => job.run_id));
    for (const id of [...this.leaves.keys()]) {
      const { runsDir, env } = this.host;
      if (!queued.has(id) || (await whyNotExecutable(runsDir, id, env)) === undefined) this.leaves.delete(id);
    }
  }

  async stop(runId: string, how: EngineStop): Promise<void> {
    const kept = this.kept.get(runId);
    if (kept === undefined) return;
    if (how === 'start') kept.cancel.abort();
    // One that has the run no longer ends by itself.
    else if (!(await this.host.stop(runDirOf(this.host.runsDir, kept.job), how === 'at_once'))) return;
    kept.asked = how;
  }

  /** Looks at engines that report nothing: whether one still has its run. */
  watchEngines(): void {
    for (const kept of this.kept.values())
      if (
        kept.watched &&
        workerOf(runDirOf(this.host.runsDir, kept.job), this.host.clock, false).kind !== 'here'
      )
        this.ended(kept, { at: 'end', how: 'its process is gone' });
  }

  private ended(kept: Kept, moment: EngineMoment): void {
    kept.watched = false;
    kept.waitMs = undefined;
    kept.moment = moment;
    kept.phase = 'settling';
  }

  /** Puts every job where it belongs that was taken or whose engine has ended. `drains`: no engine is started any more. One that fails
   *  (a disk, a database) is looked at again at the next call; the first error is thrown. */
  async settle(drains: boolean): Promise<void> {
    const failed: unknown[] = [];
    for (const kept of [...this.kept.values()].filter(({ phase }) => phase === 'settling'))
      await this.settleOne(kept, drains).catch((error: unknown) => void failed.push(error));
    if (failed.length > 0) throw failed[0];
  }

  private async settleOne(kept: Kept, drains: boolean): Promise<void> {
    const { job, moment } = kept;
    const { runsDir, clock } = this.host;
    if (drains && moment.at === 'claim') return this.release(kept, 'now');
    const { standing, execution } = await standingOfRun(runsDir, job.run_id, clock);
    // Once: settling may fail, and is then repeated.
    kept.waitMs ??= this.waitAfter(kept, execution);
    const { waitMs } = kept;
    const step = nextOfJob(job, standing, moment, { now: clock.now().getTime(), waitMs });
    switch (step.do) {
      case 'start':
        return drains ? this.release(kept, 'now') : this.start(kept, step);
      case 'watch':
        this.host.log('info', 'watches the engine of a run', { run: job.run_id, why: step.why });
        Object.assign(kept, { phase: 'running', watched: true });
        return;
      case 'finish':
        await this.queue.finish(job.run_id);
        this.forget(kept);
        this.places.delete(job.run_id);
        this.host.log(step.status === 'failed' ? 'warn' : 'info', 'run ended', {
          run: job.run_id,
          status: step.status,
        });
        return;
      case 'put':
        return this.put(kept, step, standing.kind === 'suspended');
    }
  }

  /** How long the run waits before its next start: engines that bring it no further are started less and less often. */
  private waitAfter({ job, moment }: Kept, execution: string): number {
    if ((moment.at !== 'end' && moment.at !== 'refusal') || job.request.follow !== undefined) return 0;
    const before = this.places.get(job.run_id);
    const times = before?.execution === execution ? before.times + 1 : 1;
    // The latest goes last. What other workers have finished would stay for ever.
    this.places.delete(job.run_id);
    this.places.set(job.run_id, { execution, times });
    const [oldest] = this.places.keys();
    if (this.places.size > mostPlaces && oldest !== undefined) this.places.delete(oldest);
    return waitAfterStarts(times);
  }

  private forget({ runId }: Kept): void {
    this.kept.delete(runId);
  }

  /** Puts the job back unchanged. */
  private async release(kept: Kept, target: 'now'): Promise<void> {
    await this.queue.delay(kept.job, target);
    this.forget(kept);
  }

  private async start(kept: Kept, step: Extract<JobStep, { do: 'start' }>): Promise<void> {
    const { job } = kept;
    const { runsDir, env, log } = this.host;
    const why = step.verb === 'resume' ? await whyNotExecutable(runsDir, job.run_id, env) : undefined;
    if (why !== undefined) {
      this.leaves.set(job.run_id, why);
      log('warn', 'leaves a run to other workers', { run: job.run_id, why });
      return this.release(kept, 'now');
    }
    const engine = startEngine(job, step, kept.cancel.signal, this.host);
    kept.phase = 'starting';
    void engine.started.then((pid) => {
      if (pid === undefined) return;
      this.failedStarts = 0;
      this.starts += 1;
      if (kept.phase === 'starting') kept.phase = 'running';
      log('info', `${step.verb === 'run' ? 'started' : 'resumed'} a run`, {
        run: job.run_id,
        title: job.title,
        pid,
      });
    });
    void engine.end.then((moment) => {
      if (this.kept.get(kept.runId) !== kept) return;
      if (moment.failed === true) this.pause();
      this.ended(kept, moment);
      this.host.wake();
    });
  }

  private pause(): void {
    this.failedStarts += 1;
    this.pausedUntil = this.host.clock.monotonic() + waitAfterStarts(this.failedStarts + 1);
  }

  private async put(kept: Kept, { job, target, attention }: Put, suspended: boolean): Promise<void> {
    await this.queue.delay(job, target);
    this.forget(kept);
    const { run_id: run, reason } = job;
    if (target === 'held') this.places.delete(run);
    const why = reason === undefined ? {} : { why: reason.text };
    const until = typeof target === 'object' ? { until: target.dueAt } : {};
    const what = target === 'held' ? 'holds a run' : target === 'now' ? 'run is due again' : 'run sleeps';
    this.host.log(attention ? 'warn' : 'info', what, { run, ...why, ...until });
    if (attention) this.host.needsPerson(job, reason?.text ?? '');
    // An answer that came before the job was there to be moved.
    if (suspended && target !== 'now' && isAnswered(runDirOf(this.host.runsDir, job)))
      await this.queue.change(run, { target: 'now', reason: null });
  }
}
