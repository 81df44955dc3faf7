/** Jobs that wait for another one to leave the queue, and jobs whose run waits for an answer. */
import { join } from 'node:path';
import type { Clock } from '../core/contracts/clock.ts';
import type { JobQueue } from '../core/contracts/job-queue.ts';
import type { QueuedJob } from '../core/records/job.ts';
import { isAnswered } from './run-standing.ts';

/** Makes the jobs due whose predecessor is in the queue no more, whatever became of it. Safe with others who do the same. */
async function releaseFollowers(
  queue: ReleasedQueue,
  held: readonly QueuedJob[],
  clock: Clock,
): Promise<void> {
  const there = new Set(held.map(({ job }) => job.run_id));
  for (const { job } of held) {
    // A job without a reason was on its way out of here when a disk failed, or the process that moved it was killed.
    if (job.reason === undefined) await queue.change(job.run_id, { target: 'now' });
    if (job.reason?.kind !== 'after') continue;
    const { after } = job;
    // Of many in a row only the first one's predecessor is asked for.
    if (after !== undefined && (there.has(after) || (await queue.get(after)) !== undefined)) continue;
    // It waits from now on, not since it was submitted.
    const reason = { ...job.reason, at: clock.now().toISOString() };
    await queue.change(job.run_id, { target: 'now', reason });
  }
}

/** Makes the jobs due whose question is answered: the command that answered may have been killed before that. */
async function releaseAnswered(
  queue: ReleasedQueue,
  held: readonly QueuedJob[],
  runsDir: string,
): Promise<void> {
  for (const { job } of held)
    if (job.reason?.kind === 'question' && isAnswered(join(runsDir, job.run_id)))
      await queue.change(job.run_id, { target: 'now', reason: null });
}

type ReleasedQueue = Pick<JobQueue, 'change' | 'get' | 'list' | 'onChange'>;

/** Milliseconds between two looks for answers, and the least between two looks for followers. */
const lookMs = { answers: 60_000, followers: 100 } as const;
/** At most one part in so many of the time is spent on reading the queue. */
const share = 50;

/** Releases held jobs that nothing holds any more. */
export interface Releases {
  /** Called again and again, it reads the queue only after a change of it. */
  look(): Promise<void>;
  close(): void;
}

export function openReleases(
  queue: ReleasedQueue,
  { runsDir, clock }: { readonly runsDir: string; readonly clock: Clock },
): Releases {
  let changed = true;
  let nextAt = Number.NEGATIVE_INFINITY;
  let answersAt = Number.NEGATIVE_INFINITY;
  const close = queue.onChange(() => {
    changed = true;
  });
  return {
    close,
    async look() {
      const began = clock.monotonic();
      const looksForAnswers = began - answersAt >= lookMs.answers;
      if ((!changed || began < nextAt) && !looksForAnswers) return;
      changed = false;
      const held = await queue.list('held');
      await releaseFollowers(queue, held, clock);
      if (looksForAnswers) {
        answersAt = began;
        await releaseAnswered(queue, held, runsDir);
      }
      const now = clock.monotonic();
      nextAt = now + Math.max(lookMs.followers, (now - began) * share);
    },
  };
}
