/** Opens the queue of a runs directory, wherever it is kept. */
import type { Clock } from '../core/contracts/clock.ts';
import type { JobQueue } from '../core/contracts/job-queue.ts';
import type { Environment } from '../core/contracts/process.ts';
import type { Refusal } from '../core/diagnostic.ts';
import type { Self } from '../platform/process/table.ts';
import { openFolderQueue } from './folder-queue.ts';

/** The process that takes jobs, as others identify it. */
export type WorkerSelf = Self;

export type QueueOptions = {
  readonly clock: Clock;
  readonly env: Environment;
  /** Without it claim, takeOver, extend, finish and delay throw: this process only looks, submits and changes. */
  readonly worker?: WorkerSelf | undefined;
};

/** Opens the queue of `runsDir`, which need not exist; nothing is made there before a job is submitted or taken. */
export async function openQueue(
  runsDir: string,
  { clock, worker }: QueueOptions,
): Promise<JobQueue | Refusal> {
  return openFolderQueue(runsDir, { clock, worker });
}
