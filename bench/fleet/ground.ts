/** A queue that is measured, and figures of it. */
import type { JobQueue } from '../../src/core/contracts/job-queue.ts';
import type { Job } from '../../src/core/records/job.ts';
import { openQueue } from '../../src/fleet/open-queue.ts';
import { realClock } from '../../src/platform/clock.ts';
import { thisProcess } from '../../src/platform/process/table.ts';

export interface Ground {
  readonly runsDir: string;
  readonly db: string | undefined;
  /** Opens the queue: as the worker, which is this process, or as a process that only submits. */
  open(as?: 'worker'): Promise<JobQueue>;
  /** Closes what was opened, after the jobs of a database are removed. */
  close(): Promise<void>;
}

export function groundOf(runsDir: string, db: string | undefined, boss: string): Ground {
  const opened: JobQueue[] = [];
  return {
    runsDir,
    db,
    async open(as) {
      const worker = as === 'worker' ? thisProcess() : undefined;
      const queue = await openQueue(runsDir, {
        clock: realClock,
        env: process.env,
        worker,
        db,
        cwd: boss,
      });
      if ('problems' in queue) throw new Error(queue.problems.map(({ message }) => message).join('\n'));
      opened.push(queue);
      return queue;
    },
    async close() {
      for (const queue of opened) await queue.close();
    },
  };
}

let jobs = 0;
export const newJob = (more: Partial<Job> = {}): Job => ({
  schema_version: 1,
  run_id: `job-${process.pid}-${++jobs}`,
  title: 'specs/a.md',
  priority: 0,
  submitted_at: new Date().toISOString(),
  submitted_by: 'bench',
  labels: [],
  request: { cwd: '/tmp', run: ['pipelines/compile-and-build.dot', '--var', 'spec=specs/a.md'], resume: [] },
  ...more,
});

/** Puts so many jobs into the queue. */
export async function fill(
  queue: JobQueue,
  count: number,
  more: Partial<Job>,
  dueAt?: string,
): Promise<void> {
  for (let left = count; left > 0; left -= 1000) {
    const some = Array.from({ length: Math.min(left, 1000) }, () => newJob(more));
    await queue.submit(some.map((job) => ({ job, target: dueAt === undefined ? 'now' : { dueAt } })));
  }
}

export async function timed(act: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await act();
  return performance.now() - start;
}

/** The figures of several trials, in milliseconds. */
export function figures(what: string, ms: readonly number[], targetMs?: number): string {
  const sorted = ms.toSorted((a, b) => a - b);
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN).toFixed(1);
  const target = targetMs === undefined ? '' : `, target ${targetMs} ms`;
  return `${what}: ${at(0.5)} ms (${at(0)} to ${at(1)})${target}`;
}
