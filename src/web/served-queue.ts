/** The queue of a runs directory as requests see it: kept open, and read once for all that ask at the same time. */
import type { JobQueue } from '../core/contracts/job-queue.ts';
import type { Refusal } from '../core/diagnostic.ts';
import type { QueueReport } from '../core/records/queue-report.ts';
import { openQueue, type QueueOptions, refusedIfAway } from '../fleet/open-queue.ts';
import { watchWorkers } from '../fleet/workers.ts';
import { type QueueViewHost, queueReport } from '../keeper/queue-report.ts';

export interface ServedQueue {
  /** What the queue looks like: now, or up to a second ago (longer, where reading it takes long). */
  report(): Promise<QueueReport | Refusal>;
  /** Hands the open queue to `work`; the next report is read again. */
  change<T>(work: (queue: JobQueue) => Promise<T>): Promise<T | Refusal>;
  close(): Promise<void>;
}

/** Milliseconds for which a report is answered again. */
const freshMs = 1000;

/** Opens nothing before the first request. A queue that cannot be opened is tried again by a later one. */
export function openServedQueue(host: QueueViewHost & Pick<QueueOptions, 'env' | 'db'>): ServedQueue {
  const { runsDir, cwd, clock, env, db } = host;
  const watched = { ...host, workers: watchWorkers(runsDir, clock) };
  let opened: Promise<JobQueue | Refusal> | undefined;
  let latest: { readonly report: Promise<QueueReport | Refusal>; until: number } | undefined;
  const queue = async (): Promise<JobQueue | Refusal> => {
    opened ??= openQueue(runsDir, { clock, env, db, cwd });
    const is = await opened.catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    if ('problems' in is) opened = undefined;
    return is;
  };
  const reading = async (): Promise<QueueReport | Refusal> => {
    const is = await queue();
    return 'problems' in is ? is : refusedIfAway(is, () => queueReport(is, watched));
  };
  return {
    report() {
      if (latest !== undefined && clock.monotonic() < latest.until) return latest.report;
      const began = clock.monotonic();
      const current = { report: reading(), until: Number.POSITIVE_INFINITY };
      latest = current;
      const done = () => {
        const now = clock.monotonic();
        // Reading a queue of many thousands again and again would keep a processor busy.
        current.until = now + Math.max(freshMs, 10 * (now - began));
      };
      current.report.then(done, () => {
        current.until = 0;
      });
      return current.report;
    },
    async change(work) {
      const is = await queue();
      if ('problems' in is) return is;
      try {
        return await refusedIfAway(is, () => work(is));
      } finally {
        latest = undefined;
      }
    },
    async close() {
      const is = await opened?.catch(() => undefined);
      if (is !== undefined && !('problems' in is)) await is.close();
    },
  };
}
