/** Submission to a queue in folders. What is submitted appears at once, by one rename into `submitted`; from there each job goes to
 *  its place by a rename. Any process that finds there what another one has left does the rest. */
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Clock } from '../core/contracts/clock.ts';
import type { JobTarget } from '../core/contracts/job-queue.ts';
import { isObject, jsonIn } from '../core/json.ts';
import type { Job } from '../core/records/job.ts';
import { writeFlushed } from '../platform/files/link.ts';
import { namesIn, readPlain } from '../platform/files/read.ts';
import { makeFolder, syncFolder } from '../platform/files/write.ts';
import { type OwnFolder, removeEmpty } from './aside.ts';
import { moveJob, readJobFile } from './job-file.ts';
import { baseName, timeBefore } from './job-names.ts';
import type { FleetLayout } from './layout.ts';
import type { QueueFolders, RestPlace } from './queue-folders.ts';

export type Submission = { readonly job: Job; readonly target: JobTarget };

/** Where a job that no worker has is put. */
export function placeFor(job: Job, target: JobTarget): { readonly place: RestPlace; readonly name: string } {
  const base = baseName(job);
  if (typeof target === 'string') return { place: target === 'now' ? 'wait' : 'held', name: base };
  return { place: 'later', name: timeBefore(target.dueAt, base) };
}

/** How long something is left in `submitted` before others take it for left behind. */
const patienceMs = 5000;
/** So many flushes at a time. */
const atOnce = 32;
let batches = 0;

export interface Submissions {
  submit(all: readonly Submission[]): Promise<readonly boolean[]>;
  /** Finishes what processes that have ended left. */
  recover(): Promise<void>;
}

export function submissions(
  layout: FleetLayout,
  aside: OwnFolder,
  folders: QueueFolders,
  clock: Clock,
): Submissions {
  const { queue } = layout;
  const isQueued = (): ((runId: string) => boolean) => {
    const ids = new Set(folders.survey().map(({ entry }) => entry.runId));
    return (runId) => ids.has(runId);
  };
  const settle = async (files: readonly Submitted[]): Promise<boolean[]> => {
    // Under the name of its run there is one at a time: of several processes that submit it, one moves it on. Whether the run is
    // queued is asked after that.
    for (const { path, job } of files) moveJob(path, named(queue.submitted, job.run_id));
    const queued = isQueued();
    const added = files.map(({ job, target }) => {
      const from = named(queue.submitted, job.run_id);
      const { place, name } = placeFor(job, target);
      if (!queued(job.run_id)) return moveJob(from, join(queue[place], name));
      rmSync(from, { force: true });
      return false;
    });
    for (const place of new Set(files.map(({ job, target }) => placeFor(job, target).place)))
      await syncFolder(queue[place]);
    return added;
  };
  return {
    async submit(all) {
      const first = new Map(all.map((one) => [one.job.run_id, one] as const).reverse());
      const fresh = all.filter((one) => first.get(one.job.run_id) === one);
      if (fresh.length === 0) return [];
      for (const folder of [queue.submitted, queue.wait, queue.later, queue.held]) makeFolder(folder);
      const batch = await writeBatch(aside.path(), fresh);
      const shown = join(queue.submitted, `${basename(aside.path())}~${batches}`);
      renameSync(batch, shown);
      if (fresh.length > 1) await syncFolder(queue.submitted);
      const added = await settle(fresh.map((one, at) => ({ ...one, path: join(shown, batchName(at)) })));
      removeEmpty(shown);
      const done = new Set(fresh.filter((_, at) => added[at]));
      return all.map((one) => done.has(one));
    },
    recover: leftBehind(layout, clock, settle),
  };
}

const named = (folder: string, runId: string): string => join(folder, `${runId}.json`);
const batchName = (at: number): string => `${String(at).padStart(6, '0')}.json`;

type Submitted = Submission & { readonly path: string };

/** Writes and flushes the jobs of a submission into a new folder in `aside`. */
async function writeBatch(aside: string, all: readonly Submission[]): Promise<string> {
  const batch = join(aside, `batch.${++batches}`);
  mkdirSync(batch);
  const left = [...all.entries()];
  const write = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift())
      await writeFlushed(join(batch, batchName(next[0])), submittedText(next[1]));
  };
  try {
    await Promise.all(Array.from({ length: atOnce }, write));
    if (all.length > 1) await syncFolder(batch);
  } catch (error) {
    rmSync(batch, { recursive: true, force: true });
    throw error;
  }
  return batch;
}

/** The job, and where it goes, for a process that finds it in `submitted`. The next change of the job drops that. */
const submittedText = ({ job, target }: Submission): string =>
  `${JSON.stringify({ ...job, submitted_to: typeof target === 'string' ? target : target.dueAt }, null, 2)}\n`;

/** Undefined for a file that has been moved on, or is none of ours. */
function readSubmitted(path: string): Submitted | undefined {
  const job = readJobFile(path);
  const found = readPlain(path);
  const value = found.kind === 'text' ? jsonIn(found.text) : undefined;
  const to = isObject(value) ? value['submitted_to'] : undefined;
  if (typeof job === 'string' || typeof to !== 'string') return undefined;
  return { path, job, target: to === 'now' || to === 'held' ? to : { dueAt: to } };
}

/** Jobs under the names of their runs, which come before the rest of their submissions. */
const byRunFirst = (a: string, b: string): number =>
  Number(b.endsWith('.json')) - Number(a.endsWith('.json')) || (a < b ? -1 : 1);

/** Looks for what no process has moved for some time, and moves it on. */
function leftBehind(
  { queue }: FleetLayout,
  clock: Clock,
  settle: (files: readonly Submitted[]) => Promise<boolean[]>,
): () => Promise<void> {
  const seen = new Map<string, number>();
  return async () => {
    const names = namesIn(queue.submitted);
    const now = clock.monotonic();
    for (const name of seen.keys()) if (!names.includes(name)) seen.delete(name);
    for (const name of names) if (!seen.has(name)) seen.set(name, now);
    // With what is old all goes on: the jobs of one submission may have been moved on one after another.
    const isOld = names.some((name) => now - (seen.get(name) ?? now) >= patienceMs);
    const old = isOld ? [...names].sort(byRunFirst) : [];
    const paths = (name: string): string[] => {
      const path = join(queue.submitted, name);
      return name.endsWith('.json') ? [path] : namesIn(path).map((one) => join(path, one));
    };
    // All at once: a job that waits for another one must not appear much before that.
    const files = old.flatMap(paths).flatMap((path) => readSubmitted(path) ?? []);
    if (files.length > 0) await settle(files);
    for (const name of old) if (!name.endsWith('.json')) removeEmpty(join(queue.submitted, name));
  };
}
