/** The queue of jobs in the runs directory: one file each, every change one rename. Nothing is torn, one of several processes wins,
 *  and a crash leaves a job in one place. */
import type { Clock, Every } from '../core/contracts/clock.ts';
import type { JobQueue } from '../core/contracts/job-queue.ts';
import type { QueuedJob } from '../core/records/job.ts';
import { realEvery } from '../platform/clock.ts';
import { type Self, thisProcess } from '../platform/process/table.ts';
import { ownFolder, recoverAside, strayJobs } from './aside.ts';
import { folderChanges } from './folder-change.ts';
import { folderClaims } from './folder-claims.ts';
import { noticeChanges } from './folder-notices.ts';
import { submissions } from './folder-submit.ts';
import { leftJobs } from './folder-take-over.ts';
import { jobReader, queuedJob } from './job-file.ts';
import { byName } from './job-names.ts';
import { labelPlaces } from './label-places.ts';
import { fleetLayout } from './layout.ts';
import { openListeners } from './listeners.ts';
import { processName } from './process-name.ts';
import { type JobFile, openQueueFolders } from './queue-folders.ts';
import { watchWorkers } from './workers.ts';

export type FolderQueueOptions = {
  readonly clock: Clock;
  /** The worker that takes jobs; without it they are only looked at, submitted and changed. */
  readonly worker?: Self | undefined;
  /** Default: a timer that does not keep the process alive. */
  readonly every?: Every;
};

/** How often is looked for what processes that have ended left. */
const tidyMs = 5000;
/** How often jobs are read again because they were moved while they were read. */
const mostReads = 10;

export function openFolderQueue(runsDir: string, options: FolderQueueOptions): JobQueue {
  const { clock, worker, every = realEvery } = options;
  const layout = fleetLayout(runsDir);
  const { queue } = layout;
  const self = worker ?? thisProcess();
  const aside = ownFolder(queue.aside, processName(self));
  const hands = ownFolder(queue.run, processName(self));
  const folders = openQueueFolders(layout);
  const workers = watchWorkers(runsDir, clock, self);
  const left = leftJobs(runsDir, layout, folders, workers);
  const strays = strayJobs();
  const recover = () => recoverAside(layout, strays, (name) => workers.standingOf(name) === 'dead');
  const changes = folderChanges(layout, aside, folders, clock, { release: left.release, recover, strays });
  const submitted = submissions(layout, aside, folders, clock);
  const places = labelPlaces(layout, aside, folders.running);
  const claims = folderClaims({ layout, clock, folders, aside, hands, places, left, strays });
  const readAll = listReader(folders.survey);
  const readOne = queueReader();
  const listeners = openListeners((changed) =>
    noticeChanges(
      {
        folders: [queue.wait, queue.later, queue.held, queue.run],
        of: folders,
        dueAfter: (ms) => folders.later.jobs().find(({ at }) => at > ms)?.at,
        clock,
        every,
      },
      changed,
    ),
  );

  let tidiedAt = Number.NEGATIVE_INFINITY;
  const tidy = async (): Promise<void> => {
    if (clock.monotonic() - tidiedAt < tidyMs) return;
    tidiedAt = clock.monotonic();
    recover();
    await submitted.recover();
    left.clear();
  };
  const ofWorker = <T extends readonly unknown[], R>(call: (...given: T) => Promise<R>) => {
    return async (...given: T): Promise<R> => {
      if (worker === undefined) throw new Error('Internal: this queue was opened without a worker');
      return call(...given);
    };
  };

  return {
    place: 'folder',
    submit: submitted.submit,
    claim: ofWorker(async (request) => {
      strays.putBack();
      await tidy();
      return claims.claim(request);
    }),
    takeOver: ofWorker(claims.takeOver),
    extend: ofWorker(claims.extend),
    overdue: claims.overdue,
    finish: ofWorker(claims.finish),
    delay: ofWorker(claims.delay),
    ...changes,
    async get(runId) {
      return readOne(() => [folders.find(runId)].flatMap((file) => file ?? []))[0];
    },
    list: async (only) => readAll(only),
    onChange: listeners.add,
    async close() {
      listeners.close();
      aside.close();
      hands.close();
    },
  };
}

/** Reads the jobs of files; a file that was moved meanwhile is looked for again. One that this version cannot read is left out. */
function queueReader(): (files: () => readonly JobFile[]) => QueuedJob[] {
  const read = jobReader();
  return (files) => {
    for (let reads = 1; ; reads++) {
      const found = [...files()].sort(byPlace);
      const jobs = read(found);
      if (reads < mostReads && jobs.includes('gone')) continue;
      return found.flatMap((file, at) => {
        const job = jobs[at];
        return job === undefined || typeof job === 'string' ? [] : [queuedJob(file, job)];
      });
    }
  };
}

/** Reads the jobs of all files, or of those in one state. */
function listReader(files: () => readonly JobFile[]): (only?: QueuedJob['state']) => QueuedJob[] {
  const all = queueReader();
  const some = { running: queueReader(), waiting: queueReader(), later: queueReader(), held: queueReader() };
  return (only) => {
    if (only === undefined) return all(files);
    const jobs = some[only](() => files().filter(({ place }) => stateOf[place] === only));
    return jobs.filter(({ state }) => state === only);
  };
}

const stateOf = { run: 'running', wait: 'waiting', later: 'later', held: 'held' } as const;

const order = ['run', 'wait', 'later', 'held'] as const;

/** Running since when, waiting in the order of claims, later by time: names begin with what decides. */
const byPlace = (a: JobFile, b: JobFile): number =>
  order.indexOf(a.place) - order.indexOf(b.place) || byName(a.entry, b.entry);
