/** Opens the queue of a runs directory, wherever it is kept. */
import type { Clock } from '../core/contracts/clock.ts';
import type { JobQueue } from '../core/contracts/job-queue.ts';
import type { Environment } from '../core/contracts/process.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import type { Self } from '../platform/process/table.ts';
import { openFolderQueue } from './folder-queue.ts';
import { databaseBinding, databaseNeeded } from './postgres-binding.ts';
import { isAway } from './postgres-connection.ts';
import { openPostgresQueue } from './postgres-queue.ts';
import { processName } from './process-name.ts';

/** The process that takes jobs, as others identify it. */
export type WorkerSelf = Self;

export type QueueOptions = {
  readonly clock: Clock;
  readonly env: Environment;
  /** Without it claim, takeOver, extend, finish and delay throw: this process only looks, submits and changes. */
  readonly worker?: WorkerSelf | undefined;
  /** The URL of the database that has the jobs. */
  readonly db?: string | undefined;
  /** Where pg-boss is looked for, besides next to factory: the current folder. */
  readonly cwd?: string | undefined;
  /** A worker's report that its database is away, or answers again. */
  readonly warn?: ((text: string) => void) | undefined;
};

/** Opens the queue of `runsDir`, which need not exist; nothing is made there before a job is submitted or taken. Refused without
 *  `db` where a database has the jobs. */
export async function openQueue(
  runsDir: string,
  { clock, worker, db, cwd = runsDir, warn }: QueueOptions,
): Promise<JobQueue | Refusal> {
  if (db !== undefined) {
    const name = worker === undefined ? undefined : processName(worker);
    return openPostgresQueue(runsDir, db, { cwd, clock, worker: name, warn });
  }
  const bound = databaseBinding(runsDir);
  if (bound === undefined) return openFolderQueue(runsDir, { clock, worker });
  return 'problems' in bound ? bound : databaseNeeded(runsDir, bound);
}

/** A database that goes away while a queue is open is no error of ours: the next command, or request, asks it again. */
export async function refusedIfAway<T>(
  { place }: Pick<JobQueue, 'place'>,
  work: () => Promise<T>,
): Promise<T | Refusal> {
  try {
    return await work();
  } catch (error) {
    if (!isAway(error)) throw error;
    return refused('queue-away', `${place} does not answer`, 'runs continue without it; start the database');
  }
}
