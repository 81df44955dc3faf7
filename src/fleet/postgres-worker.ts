/** The calls of a worker: what it takes from the database, keeps, and gives back. */
import type { Clock } from '../core/contracts/clock.ts';
import type { JobQueue, JobTarget } from '../core/contracts/job-queue.ts';
import type { Job, QueuedJob } from '../core/records/job.ts';
import type { Attempt, Boss } from './pg-boss.ts';
import type { PatientCalls } from './postgres-calls.ts';
import { claimed, type FetchedRow, takenOver } from './postgres-claims.ts';
import { inTransaction } from './postgres-connection.ts';
import { addRows } from './postgres-jobs.ts';
import * as rows from './postgres-rows.ts';

/** While its heartbeat may be late because the database was away, no worker is taken for dead. */
const trustMs = (rows.heartbeatSeconds + 2) * 1000;
const betweenPassesMs = 3_600_000;

type Held = { readonly attempt: Attempt; readonly order: string; readonly since: number };

export type WorkerCalls = Pick<JobQueue, 'claim' | 'takeOver' | 'extend' | 'overdue' | 'finish' | 'delay'>;

type WorkerPlace = {
  readonly boss: Boss;
  readonly schema: string;
  readonly name: string;
  readonly worker: string;
  readonly clock: Clock;
  readonly calls: PatientCalls;
};

export function workerCalls(place: WorkerPlace): WorkerCalls {
  const { boss, schema, name, worker, clock, calls } = place;
  const held = new Map<string, Held>();
  const inTurn = oneAtATime();
  const isLeft = leftByOthers(place);

  const keep = (fetched: readonly FetchedRow[]): readonly QueuedJob[] =>
    fetched.map(({ id, data: { job, order }, retryCount, startedOn }) => {
      held.set(job.run_id, { attempt: { id, retryCount }, order, since: clock.monotonic() });
      return { job, state: 'running', worker, since: startedOn.toISOString() };
    });

  /** Removes a row that this worker has; with `again`, it is added as a job that no worker has. */
  const leave = (runId: string, again?: { readonly job: Job; readonly target: JobTarget }): Promise<void> =>
    calls.wait(async () => {
      const mine = held.get(runId);
      if (mine === undefined) return;
      await inTransaction(boss, async (db) => {
        const { affected } = await boss.deleteJob(name, mine.attempt, { db });
        if (affected === 0) return;
        if (again !== undefined) await addRows({ boss, schema, name, db }, [{ ...again, order: mine.order }]);
        await db.executeSql(rows.tellOthers(schema));
      });
      held.delete(runId);
    });

  return {
    async claim(request) {
      if (request.most < 1) return [];
      return inTurn(() => calls.unlessAway(async () => keep(await claimed(place, request)), []));
    },
    async takeOver(request) {
      if (request.most < 1) return [];
      const overtaken = await inTurn(() =>
        calls.unlessAway(async () => ((await isLeft()) ? takenOver(place, request) : []), []),
      );
      const jobs = keep(overtaken.map(({ row }) => row));
      return jobs.map((job, at) => ({ ...job, from: overtaken[at]?.from ?? '' }));
    },
    async extend(runIds) {
      const unknown = runIds.filter((runId) => !held.has(runId));
      const mine = runIds.filter((runId) => held.has(runId));
      const attempts = mine.flatMap((runId) => held.get(runId)?.attempt ?? []);
      if (attempts.length === 0) return unknown;
      const there = await calls.unlessAway(async () => {
        const { affected } = await boss.touch(name, attempts);
        return affected === attempts.length ? undefined : idsHeld(place, attempts);
      }, undefined);
      if (there === undefined) return unknown;
      const lost = mine.filter((runId) => !there.has(held.get(runId)?.attempt.id ?? ''));
      for (const runId of lost) held.delete(runId);
      return [...unknown, ...lost];
    },
    overdue: () =>
      [...held].filter(([, { since }]) => clock.monotonic() - since >= rows.longestClaimMs).map(([id]) => id),
    finish: (runId) => leave(runId),
    delay: (job, target) => leave(job.run_id, { job, target }),
  };
}

/** Each claim may need both connections. */
function oneAtATime(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work, work);
    last = mine.catch(() => {});
    return mine;
  };
}

/** Whether jobs wait that a dead worker has left. Lets pg-boss look for those of silent workers, and once in a while after its
 *  tables. */
function leftByOthers({ boss, schema, name, clock, calls }: WorkerPlace): () => Promise<boolean> {
  let passed = clock.monotonic();
  return async () => {
    const { rows: found } = await boss.getDb().executeSql(rows.anyLeft(schema), [name]);
    const isSilent = found[0]?.['silent'] === true && calls.answeringFor() >= trustMs;
    if (isSilent || clock.monotonic() - passed >= betweenPassesMs) {
      await boss.supervise(name);
      passed = clock.monotonic();
    }
    return isSilent || found[0]?.['left'] === true;
  };
}

/** Which of these rows this worker still has. */
async function idsHeld(
  { boss, schema, name }: WorkerPlace,
  attempts: readonly Attempt[],
): Promise<ReadonlySet<string>> {
  const { rows: found } = await boss
    .getDb()
    .executeSql(rows.stillHeld(schema), [
      name,
      attempts.map(({ id }) => id),
      attempts.map(({ retryCount }) => retryCount),
    ]);
  return new Set(found.map(({ id }) => String(id)));
}
