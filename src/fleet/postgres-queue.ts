/** The queue of a runs directory in PostgreSQL, by pg-boss: for hosts that share more than a folder can bear. */
import type { Clock } from '../core/contracts/clock.ts';
import type { JobQueue } from '../core/contracts/job-queue.ts';
import type { Refusal } from '../core/diagnostic.ts';
import { openListeners } from './listeners.ts';
import { type Boss, loadBoss } from './pg-boss.ts';
import { type DatabaseAddress, databaseAddress } from './postgres-address.ts';
import { bind, checkedBinding, databaseBinding, queueNameOf } from './postgres-binding.ts';
import { patientCalls } from './postgres-calls.ts';
import { hearChanges } from './postgres-changes.ts';
import { connectBoss, connectionProblem } from './postgres-connection.ts';
import { jobCalls } from './postgres-jobs.ts';
import { type WorkerCalls, workerCalls } from './postgres-worker.ts';
import { removeDeadWorkers, watchWorkers } from './workers.ts';

export type PostgresQueueOptions = {
  /** Where pg-boss is looked for, besides next to factory. */
  readonly cwd: string;
  readonly clock: Clock;
  /** The name of the worker that takes jobs. */
  readonly worker?: string | undefined;
  /** What a worker reports to people. */
  readonly warn?: ((text: string) => void) | undefined;
};

/** How long a command waits for a database that has gone away meanwhile; a worker waits until it is back. */
const patienceMs = 10_000;

/** Opens the queue of `runsDir` in the database that `url` names. */
export async function openPostgresQueue(
  runsDir: string,
  url: string,
  options: PostgresQueueOptions,
): Promise<JobQueue | Refusal> {
  const address = databaseAddress(url);
  if ('problems' in address) return address;
  const module = await loadBoss(options.cwd);
  if ('problems' in module) return module;
  const boss = await connectBoss(module, address);
  if ('problems' in boss) return boss;
  try {
    const found =
      options.worker === undefined
        ? await checkedBinding(boss, runsDir, address)
        : await bind(boss, runsDir, address);
    if (found === undefined || !('problems' in found)) {
      const name = found === undefined ? undefined : queueNameOf(found);
      return queueOf({ ...options, boss, address, runsDir, name });
    }
    await boss.stop({ graceful: false });
    return found;
  } catch (error) {
    await boss.stop({ graceful: false });
    return connectionProblem(error, address);
  }
}

type Opened = PostgresQueueOptions & {
  readonly boss: Boss;
  readonly address: DatabaseAddress;
  readonly runsDir: string;
  /** Of pg-boss's queue; undefined before the first job. */
  readonly name: string | undefined;
};

function queueOf(opened: Opened): JobQueue {
  const { boss, address, runsDir, clock, worker, warn = () => {} } = opened;
  const { schema, place } = address;
  const closed = new AbortController();
  const calls = patientCalls({
    ...{ clock, warn, place, closed: closed.signal },
    patienceMs: worker === undefined ? patienceMs : Number.POSITIVE_INFINITY,
  });
  let { name } = opened;
  const bound = async (): Promise<string> => {
    if (name !== undefined) return name;
    const binding = await bind(boss, runsDir, address);
    if ('problems' in binding) throw new Error(binding.problems[0]?.message);
    name = queueNameOf(binding);
    return name;
  };
  /** Another process may have submitted the first job meanwhile. */
  const known = (): string | undefined => {
    const binding = name === undefined ? databaseBinding(runsDir) : undefined;
    if (binding !== undefined && !('problems' in binding)) name = queueNameOf(binding);
    return name;
  };
  const listeners = openListeners((changed) => hearChanges({ boss, schema, name: known, clock }, changed));
  return {
    place,
    ...jobCalls({ boss, schema, calls, bound, name: known }),
    ...(worker === undefined || name === undefined
      ? noWorker
      : tidying(runsDir, clock, workerCalls({ boss, schema, name, worker, clock, calls }))),
    onChange: listeners.add,
    async close() {
      closed.abort();
      listeners.close();
      await boss.stop({ graceful: false });
    },
  };
}

/** Milliseconds between two looks for files of workers that have ended. Nothing else removes them: their jobs are the database's. */
const tidyMs = 60_000;

function tidying(runsDir: string, clock: Clock, calls: WorkerCalls): WorkerCalls {
  const workers = watchWorkers(runsDir, clock);
  let tidiedAt = Number.NEGATIVE_INFINITY;
  return {
    ...calls,
    async takeOver(request) {
      if (clock.monotonic() - tidiedAt >= tidyMs) {
        tidiedAt = clock.monotonic();
        removeDeadWorkers(runsDir, workers);
      }
      return calls.takeOver(request);
    },
  };
}

const refuse = () => Promise.reject(new Error('Internal: this queue was opened without a worker'));
const noWorker: WorkerCalls = {
  ...{ claim: refuse, takeOver: refuse, extend: refuse, finish: refuse, delay: refuse },
  overdue: () => [],
};
