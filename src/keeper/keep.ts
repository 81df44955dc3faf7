/** `factory keep`: opens the queue, works for it until a signal, and looks after what all runs of the runs directory share. */
import { mkdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { pruneRuns } from '../app/prune.ts';
import { notify } from '../app/run/notify.ts';
import { drainRun } from '../app/stop.ts';
import type { Host } from '../app/types.ts';
import type { JobQueue } from '../core/contracts/job-queue.ts';
import type { Refusal } from '../core/diagnostic.ts';
import type { Job } from '../core/records/job.ts';
import { openQueue } from '../fleet/open-queue.ts';
import { placesReader } from '../fleet/settings.ts';
import { heartbeatMs, openWorkerFile, type WorkerFile } from '../fleet/workers.ts';
import { packageVersion } from '../platform/package.ts';
import { thisProcess } from '../platform/process/table.ts';
import { namedRun } from '../run/runs.ts';
import { type EngineHost, noticeTargetOf } from './engines.ts';
import { openReleases } from './followers.ts';
import type { PruneRule } from './prune-rule.ts';
import { type ScheduleTick, scheduleTicks } from './schedule-ticks.ts';
import { submitScheduled } from './schedules.ts';
import { keepJobs, type WorkerHost, type WorkerSettings, type WorkerStatus } from './worker.ts';

export type KeepSettings = WorkerSettings &
  Pick<EngineHost, 'notify' | 'runsDir'> & {
    readonly db: string | undefined;
    readonly prune: PruneRule | undefined;
  };

export type KeepHost = Pick<Host, 'cwd' | 'env' | 'clock' | 'log' | 'called'> &
  Pick<WorkerHost, 'drain' | 'atOnce' | 'start'>;

/** Milliseconds between two removals of old runs. */
const pruneMs = 3_600_000;

/** Works until it has drained. */
export async function keep(settings: KeepSettings, host: KeepHost): Promise<Refusal | undefined> {
  const { runsDir, db } = settings;
  const { cwd, clock, env, log } = host;
  const self = thisProcess();
  mkdirSync(runsDir, { recursive: true });
  const queue = await openQueue(runsDir, {
    clock,
    env,
    worker: self,
    db,
    cwd,
    warn: (why) => log('warn', why),
  });
  if ('problems' in queue) return queue;
  const file = openWorkerFile(runsDir, self, clock);
  const notices = new Set<Promise<void>>();
  const upkeep = openUpkeep(queue, file, settings, host);
  log('info', 'worker started', { worker: file.name, queue: queue.place, slots: settings.slots });
  try {
    await keepJobs(queue, settings, {
      ...host,
      ...settings,
      freeBytes: () => freeBytes(runsDir),
      mostOfLabel: placesReader(runsDir),
      stop: (dir, atOnce) => drainRun(dir, { worker: file.name, atOnce, clock }),
      needsPerson(job, why) {
        const sent = sendNotice(job, why, settings, host).finally(() => notices.delete(sent));
        notices.add(sent);
      },
      look: upkeep.look,
    });
    await Promise.all(notices);
  } finally {
    upkeep.close();
    await queue.close();
    file.remove();
  }
  log('info', 'worker stopped', { worker: file.name });
  return undefined;
}

const freeBytes = (folder: string): number => {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
};

/** Notifies that a run needs a person. */
async function sendNotice(job: Job, why: string, settings: KeepSettings, host: KeepHost): Promise<void> {
  const target = noticeTargetOf(job, settings.notify);
  if (target === undefined) return;
  const dir = join(settings.runsDir, job.run_id);
  const next = `${host.called?.program ?? 'factory'} queue move ${namedRun(dir, host.cwd)} --now`;
  await notify(target, dir, { broke: why, next, title: job.title }, { ...host, signal: host.drain });
}

/** Logs what schedules have submitted, and notifies of those that need a person. A slow receiver delays nothing. */
function reportTick({ submitted, problems }: ScheduleTick, settings: KeepSettings, host: KeepHost): void {
  for (const { name: schedule, run_id: run } of submitted)
    host.log('info', 'submitted the run of a schedule', { schedule, run });
  for (const { name, text, notify: own } of problems) {
    host.log('warn', 'a schedule needs a person', { schedule: name, why: text });
    const target = own ?? settings.notify;
    if (target === undefined) continue;
    const next = `${host.called?.program ?? 'factory'} schedule run ${name}`;
    const left = { broke: `schedule ${name}: ${text}`, next, title: `schedule ${name}` };
    void notify(target, join(settings.runsDir, name), left, { ...host, signal: host.drain });
  }
}

/** What a worker does at each look besides its jobs. */
function openUpkeep(queue: JobQueue, file: WorkerFile, settings: KeepSettings, host: KeepHost) {
  const { clock } = host;
  const releases = openReleases(queue, { ...settings, clock });
  const schedules = scheduleTicks(settings.runsDir, submitScheduled(queue, { ...host, ...settings }), clock);
  const version = packageVersion();
  const written = { facts: '', at: Number.NEGATIVE_INFINITY };
  let prunedAt = Number.NEGATIVE_INFINITY;
  const write = (status: WorkerStatus): void => {
    const { slots, labels } = settings;
    const facts = {
      ...{ ...status, slots, version, leaves: Object.fromEntries(status.leaves) },
      ...(labels === undefined ? {} : { labels }),
    };
    const text = JSON.stringify(facts);
    if (text === written.facts && clock.monotonic() - written.at < heartbeatMs) return;
    file.write(facts);
    Object.assign(written, { facts: text, at: clock.monotonic() });
  };
  return {
    async look(status: WorkerStatus): Promise<void> {
      write(status);
      if (status.draining) return;
      await releases.look();
      reportTick(await schedules(), settings, host);
      if (settings.prune === undefined || clock.monotonic() - prunedAt < pruneMs) return;
      prunedAt = clock.monotonic();
      // Not waited for: there may be thousands of runs.
      void prune(queue, settings.prune, settings, host);
    },
    close: releases.close,
  };
}

async function prune(
  queue: JobQueue,
  rule: PruneRule,
  { runsDir }: KeepSettings,
  { clock, env, log }: KeepHost,
): Promise<void> {
  try {
    const queued = new Set((await queue.list()).map(({ job }) => job.run_id));
    const pruned = await pruneRuns(runsDir, { ...rule, dryRun: false, queued }, { clock, env });
    const freed = pruned.removed.reduce((sum, one) => sum + one.freed, 0);
    if (pruned.removed.length > 0)
      log('info', 'removed old runs', { runs: pruned.removed.length, bytes: freed });
  } catch (error) {
    log('warn', 'old runs could not be removed', { why: String(error) });
  }
}
