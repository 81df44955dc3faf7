/** What a worker does with jobs of a queue in folders. The ones that it has are in a folder that only it puts jobs into. */
import { lstatSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../core/contracts/clock.ts';
import type { ClaimRequest, JobQueue } from '../core/contracts/job-queue.ts';
import { own } from '../core/json.ts';
import type { Job, QueuedJob } from '../core/records/job.ts';
import { isFolder } from '../platform/files/read.ts';
import { isMissing, makeFolder, syncFolder } from '../platform/files/write.ts';
import { type OwnFolder, type StrayJobs, writeAside } from './aside.ts';
import { placeFor } from './folder-submit.ts';
import { ended, type LeftJobs } from './folder-take-over.ts';
import { jobText, moveJob, queuedJob, readJobFile, replaceJob } from './job-file.ts';
import { byBase, timeBefore } from './job-names.ts';
import type { LabelCaps, LabelPlaces } from './label-places.ts';
import type { FleetLayout } from './layout.ts';
import type { JobFile, QueueFolders } from './queue-folders.ts';

export type ClaimParts = {
  readonly layout: FleetLayout;
  readonly clock: Clock;
  readonly folders: QueueFolders;
  readonly aside: OwnFolder;
  /** The folder of this worker. */
  readonly hands: OwnFolder;
  readonly places: LabelPlaces;
  readonly left: LeftJobs;
  readonly strays: StrayJobs;
};

type Claims = Pick<JobQueue, 'claim' | 'takeOver' | 'extend' | 'overdue' | 'finish' | 'delay'>;
type OwnFile = JobFile & { readonly place: 'run' };

export function folderClaims(parts: ClaimParts): Claims {
  const { layout, folders, places, left, clock } = parts;
  const { queue } = layout;
  const mine = new Map<string, OwnFile>();
  const taker = jobTaker(parts);
  return {
    async claim(request) {
      if (request.most <= 0) return [];
      folders.wait.refreshSparingly();
      folders.later.refreshSparingly();
      const fits = fitting(request, places);
      const jobs: QueuedJob[] = [];
      for (const file of dueJobs(folders, clock)) {
        if (jobs.length >= request.most) break;
        const got = await unlessOneIsTaken(jobs, () => taker.take(file, fits));
        if (got === 'failed') break;
        if (got === undefined) continue;
        mine.set(got.job.run_id, got.file);
        jobs.push(queuedJob(got.file, got.job));
      }
      return jobs;
    },
    async takeOver(request) {
      const fits = fitting(request, places);
      const jobs: (QueuedJob & { readonly from: string })[] = [];
      for (const { from, ...file } of left.find()) {
        if (jobs.length >= request.most) break;
        const got = await unlessOneIsTaken(jobs, () => taker.takeLeft(file, fits));
        if (got === 'failed') break;
        if (got === undefined) continue;
        mine.set(got.job.run_id, got.file);
        jobs.push({ ...queuedJob(got.file, got.job), from });
      }
      return jobs;
    },
    async extend(runIds) {
      return runIds.filter((runId) => {
        const file = mine.get(runId);
        if (file !== undefined && isThere(file.path)) return false;
        mine.delete(runId);
        return true;
      });
    },
    overdue: () => [],
    async finish(runId) {
      const file = mine.get(runId);
      if (file === undefined) return;
      // First out of this worker's folder, whose changes others do not follow, to the one that they do.
      const gone = join(queue.run, `${file.entry.base}${ended}`);
      moveJob(file.path, gone);
      mine.delete(runId);
      rmSync(gone, { force: true });
      places.release(runId);
    },
    async delay(job, target) {
      const file = mine.get(job.run_id);
      if (file === undefined) return;
      const { place, name } = placeFor(job, target);
      const isMine = await rewrite(parts, file, job);
      if (isMine) {
        makeFolder(queue[place]);
        moveJob(file.path, join(queue[place], name));
      }
      // Before anything else can fail: called again, it must not make the file anew.
      mine.delete(job.run_id);
      places.release(job.run_id);
      if (isMine) await syncFolder(queue[place]);
    },
  };
}

/** Of several jobs the first that cannot be taken is an error, a later one ends the claim: what was taken is the worker's. */
async function unlessOneIsTaken<T>(
  before: readonly unknown[],
  take: () => T | Promise<T>,
): Promise<T | 'failed'> {
  try {
    return await take();
  } catch (error) {
    if (before.length === 0) throw error;
    return 'failed';
  }
}

/** Replaces the record of a job that this worker has; false where it has it no more. */
async function rewrite({ aside }: ClaimParts, file: OwnFile, job: Job): Promise<boolean> {
  const text = jobText(job);
  const written = await writeAside(aside, text);
  if (replaceJob(written, file.path, text)) return true;
  rmSync(written, { force: true });
  return false;
}

/** A file that cannot be looked at is not gone. */
function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Jobs that are due, in the order of claims. */
function* dueJobs({ wait, later }: QueueFolders, clock: Clock): Generator<JobFile> {
  const now = clock.now().getTime();
  const all = later.jobs();
  const firstAsleep = all.findIndex(({ at }) => at > now);
  const awake = all.slice(0, firstAsleep === -1 ? all.length : firstAsleep).sort(byBase);
  let at = 0;
  for (const entry of wait.jobs()) {
    for (let next = awake[at]; next !== undefined && byBase(next, entry) < 0; next = awake[++at])
      if (later.has(next.name)) yield { place: 'later', entry: next, path: join(later.path, next.name) };
    if (wait.has(entry.name)) yield { place: 'wait', entry, path: join(wait.path, entry.name) };
  }
  for (const entry of awake.slice(at))
    if (later.has(entry.name)) yield { place: 'later', entry, path: join(later.path, entry.name) };
}

/** The caps that a job counts for, or undefined where the worker may not take it now. */
type Fits = (file: JobFile) => LabelCaps | undefined;

type Fitting = Fits & { readonly again: () => void };

function fitting(request: ClaimRequest, places: LabelPlaces): Fitting {
  const full = new Map<string, boolean>();
  const isFull = (label: string, cap: number): boolean => {
    const known = full.get(label) ?? places.isFull(label, cap);
    full.set(label, known);
    return known;
  };
  const fits: Fits = (file) => {
    if (request.leaves.has(file.entry.runId)) return undefined;
    const labels = labelsOf(file);
    if (labels === undefined) return undefined;
    if (request.labels !== undefined && !labels.every((label) => request.labels?.includes(label)))
      return undefined;
    const caps = new Map<string, number>();
    for (const label of labels) {
      const cap = own(request.mostOfLabel, label);
      if (cap === undefined) continue;
      // A dead worker's job has its place still.
      if (file.place !== 'run' && isFull(label, cap)) return undefined;
      caps.set(label, cap);
    }
    return caps;
  };
  return Object.assign(fits, { again: () => full.clear() });
}

function labelsOf({ entry, path }: JobFile): readonly string[] | undefined {
  if (entry.labels !== undefined) return entry.labels;
  const job = readJobFile(path);
  return typeof job === 'string' ? undefined : job.labels;
}

type Taken = { readonly file: OwnFile; readonly job: Job };

/** Takes jobs into the hands of this worker. */
function jobTaker(parts: ClaimParts) {
  const { layout, clock, folders, hands, places, strays } = parts;
  const { queue } = layout;
  /** Those that this version cannot read are left to others. */
  const unreadable = new Set<string>();
  const taker = {
    take(file: JobFile, fits: Fitting): Taken | undefined {
      const { entry } = file;
      const caps = unreadable.has(entry.base) ? undefined : fits(file);
      if (caps === undefined) return undefined;
      const folder = hands.path();
      const at = Math.max(0, clock.now().getTime());
      const name = timeBefore(at, entry.base);
      const path = join(folder, name);
      if (!moveJob(file.path, path)) {
        if (file.place !== 'run' && isFolder(dirname(path))) folders[file.place].drop(entry.name);
        return undefined;
      }
      if (file.place !== 'run') folders[file.place].drop(entry.name);
      const job = readJobFile(path);
      const back = file.place === 'later' ? file.path : join(queue.wait, entry.base);
      if (typeof job === 'string') {
        unreadable.add(entry.base);
        moveJob(path, back);
        return undefined;
      }
      fits.again();
      try {
        if (caps.size > 0 && !places.take(entry.runId, caps)) {
          moveJob(path, back);
          return undefined;
        }
      } catch (error) {
        strays.add(path, back);
        throw error;
      }
      return {
        file: {
          place: 'run',
          folder: folder.slice(queue.run.length + 1),
          path,
          entry: { ...entry, name, at },
        },
        job,
      };
    },
    /** Takes a job of a dead worker, and counts that in it. */
    async takeLeft(left: JobFile, fits: Fitting): Promise<Taken | undefined> {
      const got = taker.take(left, fits);
      if (got === undefined) return undefined;
      const { file } = got;
      const job = { ...got.job, taken_over: (got.job.taken_over ?? 0) + 1 };
      try {
        return (await rewrite(parts, file, job)) ? { file, job } : undefined;
      } catch (error) {
        strays.add(file.path, join(queue.wait, file.entry.base));
        throw error;
      }
    },
  };
  return taker;
}
