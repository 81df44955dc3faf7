/** Changes of jobs that no worker has: a job is moved out of its folder first, so that no worker takes it meanwhile. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../core/contracts/clock.ts';
import type { JobChange, JobQueue } from '../core/contracts/job-queue.ts';
import type { Job } from '../core/records/job.ts';
import { makeFolder, syncFolder } from '../platform/files/write.ts';
import { type OwnFolder, type StrayJobs, writeAside } from './aside.ts';
import { placeFor } from './folder-submit.ts';
import { jobText, moveJob, queuedJob, readJobFile, replaceJob } from './job-file.ts';
import { readJobName } from './job-names.ts';
import type { FleetLayout } from './layout.ts';
import { changingName, type JobFile, type QueueFolders, type RestPlace } from './queue-folders.ts';

type Change = Parameters<JobQueue['change']>[1];

/** How often a job that other processes move meanwhile is looked for, and how long is waited in between. */
const mostTries = 50;
const pauseMs = 20;

export interface QueueChanges {
  change(runId: string, change: Change): Promise<JobChange>;
  cancel(runId: string): Promise<JobChange>;
}

/** What is done about jobs that another process has. */
export type Obstacles = {
  /** Puts a job of a dead worker back into `wait`; false for one that a living worker has. */
  readonly release: (file: JobFile & { readonly place: 'run' }) => boolean;
  /** Puts back what processes that have ended were changing. */
  readonly recover: () => void;
  readonly strays: StrayJobs;
};

export function folderChanges(
  { queue }: FleetLayout,
  aside: OwnFolder,
  folders: QueueFolders,
  clock: Clock,
  { release, recover, strays }: Obstacles,
): QueueChanges {
  /** Calls `act` with the job that was removed from its folder; it answers undefined where that file was lost meanwhile. */
  const withJob = async (
    runId: string,
    act: (job: MovedJob) => Promise<JobChange | undefined>,
  ): Promise<JobChange> => {
    for (let tries = 0; tries < mostTries; tries++) {
      const file = folders.find(runId);
      if (file === undefined) return { kind: 'none' };
      const job = readJobFile(file.path);
      if (job === 'unreadable') throw new Error(`${file.path} is no job of this version of factory`);
      if (file.place === 'run' && !release(file)) {
        if (job !== 'gone') return { kind: 'elsewhere', job: queuedJob(file, job) };
      } else if (file.place !== 'run' && file.changing === true) recover();
      else if (file.place !== 'run') {
        const path = join(aside.path(), changingName(file.place, file.entry.name));
        const found = job === 'gone' || !moveJob(file.path, path) ? 'gone' : readJobFile(path);
        if (typeof found !== 'string') {
          const answer = await act({ file, job: found, path, place: file.place }).catch((error: unknown) => {
            strays.add(path, file.path);
            throw error;
          });
          if (answer !== undefined) return answer;
        }
      }
      await clock.sleep(pauseMs);
    }
    throw new Error(`${runId}: other processes moved the job ${mostTries} times while it was to be changed`);
  };

  return {
    change: (runId, change) =>
      withJob(runId, async ({ file, job, path, place }) => {
        const next = changed(job, change);
        const text = jobText(next);
        if (!replaceJob(await writeAside(aside, text), path, text)) return undefined;
        const to = targetOf(next, change, file, place);
        makeFolder(queue[to.place]);
        if (!moveJob(path, join(queue[to.place], to.name))) return undefined;
        await syncFolder(queue[to.place]);
        const entry = readJobName(to.name) ?? file.entry;
        return { kind: 'done', job: queuedJob({ place: to.place, entry, path }, next) };
      }),
    cancel: (runId) =>
      withJob(runId, async ({ file, job, path }) => {
        rmSync(path, { force: true });
        return { kind: 'done', job: queuedJob(file, job) };
      }),
  };
}

/** A job that was moved out of its folder: where it was, and where it is now. */
type MovedJob = {
  readonly file: JobFile;
  readonly job: Job;
  readonly path: string;
  readonly place: RestPlace;
};

function changed(job: Job, { priority, reason }: Change): Job {
  const { reason: before, ...rest } = job;
  const kept = reason === undefined ? before : (reason ?? undefined);
  return {
    ...rest,
    ...(priority === undefined ? {} : { priority }),
    ...(kept === undefined ? {} : { reason: kept }),
  };
}

function targetOf(job: Job, { target }: Change, file: JobFile, place: RestPlace) {
  if (target !== undefined) return placeFor(job, target);
  if (place === 'later') return placeFor(job, { dueAt: new Date(file.entry.at).toISOString() });
  return placeFor(job, place === 'wait' ? 'now' : 'held');
}
