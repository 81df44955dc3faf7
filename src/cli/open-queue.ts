/** The queue that a command names. */
import type { JobQueue } from '../core/contracts/job-queue.ts';
import type { Refusal } from '../core/diagnostic.ts';
import { openQueue, refusedIfAway } from '../fleet/open-queue.ts';
import { runsDirOf } from './find-run.ts';
import type { CliIo } from './io.ts';
import { databaseUrlOf } from './options.ts';

export type QueuePlace = { readonly runsdir?: string; readonly db?: string };

/** Opens the queue, hands it to `work` and closes it. */
export async function withQueue<T>(
  options: QueuePlace,
  io: CliIo,
  work: (queue: JobQueue, runsDir: string) => Promise<T | Refusal>,
): Promise<T | Refusal> {
  const runsDir = runsDirOf(options, io);
  const { clock, cwd, env } = io;
  const where = { clock, cwd, env, db: databaseUrlOf(options, io) };
  const queue = await openQueue(runsDir, where);
  if ('problems' in queue) return queue;
  try {
    return await refusedIfAway(queue, () => work(queue, runsDir));
  } finally {
    await queue.close();
  }
}
