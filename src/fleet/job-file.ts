/** Files of jobs: one job each, changed by renames only. */
import { existsSync, renameSync, statSync } from 'node:fs';
import { jsonIn } from '../core/json.ts';
import { type Job, jobSchema, type QueuedJob } from '../core/records/job.ts';
import { readPlain } from '../platform/files/read.ts';
import { isMissing } from '../platform/files/write.ts';
import { type JobFile, readWorkerFolder } from './queue-folders.ts';

export const jobText = (job: Job): string => `${JSON.stringify(job, null, 2)}\n`;

/** Most bytes of a job's file. */
const mostOfJob = 16 * 1_048_576;

/** `gone`: it was moved. `unreadable`: of another version, or damaged. */
export function readJobFile(path: string): Job | 'gone' | 'unreadable' {
  const found = readPlain(path, mostOfJob);
  if (found.kind === 'missing') return 'gone';
  const read = jobSchema().safeParse(found.kind === 'text' ? jsonIn(found.text) : undefined);
  return read.success ? read.data : 'unreadable';
}

export function queuedJob(file: JobFile, job: Job): QueuedJob {
  const at = new Date(file.entry.at).toISOString();
  if (file.place === 'run')
    return { job, state: 'running', worker: readWorkerFolder(file.folder)?.owner ?? file.folder, since: at };
  if (file.place === 'later') return { job, state: 'later', due_at: at };
  return { job, state: file.place === 'wait' ? 'waiting' : 'held' };
}

/** Moves a file to a name that no other file ever has. False where another process has moved it before, or the folder of one of
 *  the two was taken away. */
export function moveJob(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (!isMissing(error)) throw error;
    // A network disk may repeat a request that it has carried out, and find nothing the second time.
    return existsSync(to);
  }
}

/** Replaces a job's file by the one at `from`, which has this text. False where the folder of the job was taken away. */
export function replaceJob(from: string, to: string, text: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (!isMissing(error)) throw error;
    const found = readPlain(to, mostOfJob);
    return found.kind === 'text' && found.text === text;
  }
}

/** Reads jobs again and again, and keeps those whose files have not changed. */
export function jobReader(): (files: readonly JobFile[]) => (Job | 'gone' | 'unreadable')[] {
  type Kept = { readonly stamp: string; readonly job: Job | 'unreadable' };
  let kept = new Map<string, Kept>();
  return (files) => {
    const next = new Map<string, Kept>();
    const jobs = files.map(({ path }) => {
      const stamp = stampOf(path);
      const before = kept.get(path);
      const job = before !== undefined && before.stamp === stamp ? before.job : readJobFile(path);
      if (stamp !== undefined && job !== 'gone') next.set(path, { stamp, job });
      return job;
    });
    kept = next;
    return jobs;
  };
}

function stampOf(path: string): string | undefined {
  const is = statSync(path, { bigint: true, throwIfNoEntry: false });
  return is === undefined ? undefined : `${is.ino} ${is.mtimeNs}`;
}
