/** The job that a person names. */
import type { JobQueue } from '../core/contracts/job-queue.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import type { QueuedJob } from '../core/records/job.ts';

/** The job with that run id, or with an id or title that begins so; a whole title goes before the beginning of one. */
export async function findJob(
  queue: Pick<JobQueue, 'get' | 'list'>,
  name: string,
): Promise<QueuedJob | Refusal> {
  const found = await queue.get(name).catch(() => undefined);
  if (found !== undefined) return found;
  const all = await queue.list();
  const fits = jobsNamed(all, name);
  const [one] = fits;
  if (one !== undefined && fits.length === 1) return one;
  const look = 'factory queue lists the jobs';
  if (one === undefined) {
    const there = all.length === 0 ? 'the queue is empty' : `it has ${all.length === 1 ? 'one' : all.length}`;
    return refused('no-job', `there is no job "${name}" in the queue (${there})`, look);
  }
  const ids = fits.slice(0, 5).map(({ job }) => job.run_id);
  return refused(
    'no-job',
    `${fits.length} jobs are called "${name}": ${ids.join(', ')}${fits.length > 5 ? ', …' : ''}`,
    'name one by its run id',
  );
}

/** The jobs that the name may mean: by id, else by title. */
export function jobsNamed(all: readonly QueuedJob[], name: string): readonly QueuedJob[] {
  const key = name.trim().toLowerCase();
  const isTitled = ({ job: { title } }: QueuedJob, fits: (title: string) => boolean): boolean =>
    fits(title.toLowerCase());
  // What has a letter or two means none of many.
  const tries: readonly ((one: QueuedJob) => boolean)[] = [
    ({ job }) => name !== '' && job.run_id === name,
    ({ job }) => name !== '' && job.run_id.startsWith(name),
    (one) => key !== '' && isTitled(one, (title) => title === key),
    (one) => key.length > 2 && isTitled(one, (title) => title.startsWith(key)),
  ];
  for (const fits of tries) {
    const found = all.filter(fits);
    if (found.length > 0) return found;
  }
  return [];
}
