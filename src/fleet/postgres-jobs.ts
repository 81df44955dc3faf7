/** What every process may do with the jobs of a queue in PostgreSQL: add, look, change, remove. */
import { randomUUID } from 'node:crypto';
import type { JobChange, JobQueue, JobTarget } from '../core/contracts/job-queue.ts';
import type { Job } from '../core/records/job.ts';
import type { Boss, Statements } from './pg-boss.ts';
import type { PatientCalls } from './postgres-calls.ts';
import { inTransaction } from './postgres-connection.ts';
import * as rows from './postgres-rows.ts';

type Change = Parameters<JobQueue['change']>[1];

type Place = {
  readonly boss: Boss;
  readonly schema: string;
  readonly calls: PatientCalls;
  /** pg-boss's name of the queue, which the first job makes. */
  readonly name: () => string | undefined;
  readonly bound: () => Promise<string>;
};

export function jobCalls(place: Place): Pick<JobQueue, 'submit' | 'cancel' | 'change' | 'get' | 'list'> {
  const { boss, schema, calls, bound } = place;
  return {
    submit: (jobs) =>
      calls.wait(async () => {
        if (jobs.length === 0) return [];
        const name = await bound();
        const orders = rows.ordersOf(jobs.map(({ job }) => job));
        return inTransaction(boss, async (db) => {
          const given = jobs.map((one) => ({ ...one, order: orders.get(one.job.run_id) ?? '' }));
          const added = await addRows({ boss, schema, name, db }, given);
          await db.executeSql(rows.tellOthers(schema));
          return added;
        });
      }),
    cancel: (runId) => changeRow(place, runId, (db, name, { id }) => boss.deleteJob(name, id, { db })),
    change: (runId, change) =>
      changeRow(place, runId, (db, name, { id, data }, before) => {
        const job = changed(before, change);
        const { target } = change;
        const due = target === undefined ? {} : { startAfter: rows.startAfter(target) };
        return boss.update(name, { ...data, job }, { ...{ id, db, priority: job.priority }, ...due });
      }),
    get: (runId) =>
      calls.wait(async () => {
        const [row] = await read(place, boss.getDb(), rows.rowOf(schema), [runId]);
        return row === undefined ? undefined : rows.jobOfRow(row);
      }),
    list: (only) =>
      calls.wait(async () => {
        const found = await read(place, boss.getDb(), rows.listRows(schema, only));
        return rows.byState(found.flatMap((row) => rows.jobOfRow(row) ?? []));
      }),
  };
}

async function read(
  { name }: Place,
  db: Statements,
  sql: string,
  values: readonly unknown[] = [],
): Promise<readonly rows.JobRow[]> {
  const queue = name();
  if (queue === undefined) return [];
  return (await db.executeSql(sql, [queue, ...values])).rows as unknown as readonly rows.JobRow[];
}

/** Changes the row of a job that no worker has. */
const changeRow = (
  place: Place,
  runId: string,
  change: (db: Statements, name: string, row: rows.JobRow, job: Job) => Promise<unknown>,
): Promise<JobChange> =>
  place.calls.wait(() =>
    inTransaction(place.boss, async (db): Promise<JobChange> => {
      const { schema } = place;
      const name = place.name();
      const locked = async () => (await read(place, db, rows.rowOf(schema, 'lock'), [runId]))[0];
      // A worker that puts the job back replaces its row: who waited for that one finds none, and the next statement the new one.
      const row = (await locked()) ?? (await locked());
      const before = row === undefined ? undefined : rows.jobOfRow(row);
      if (row === undefined || before === undefined || name === undefined) return { kind: 'none' };
      if (row.state === 'active') return { kind: 'elsewhere', job: before };
      await change(db, name, row, before.job);
      await db.executeSql(rows.tellOthers(schema));
      const [now = row] = await read(place, db, rows.rowOf(schema), [runId]);
      return { kind: 'done', job: rows.jobOfRow(now) ?? before };
    }),
  );

/** Without a reason it keeps the one it has. */
function changed({ reason: before, ...job }: Job, { priority = job.priority, reason }: Change): Job {
  const why = reason === null ? undefined : (reason ?? before);
  return { ...job, priority, ...(why === undefined ? {} : { reason: why }) };
}

/** Adds jobs that are not queued yet; whether each was added. */
export async function addRows(
  {
    boss,
    schema,
    name,
    db,
  }: Pick<Place, 'boss' | 'schema'> & { readonly name: string; readonly db: Statements },
  jobs: readonly { readonly job: Job; readonly target: JobTarget; readonly order: string }[],
): Promise<readonly boolean[]> {
  const given = jobs.map((one) => ({ ...one, id: randomUUID() }));
  const added = await boss.insert(
    name,
    given.map(({ id, job, order, target }) => rows.newRow(id, { job, order }, target)),
    { db, returnId: true },
  );
  const ids = new Set(added ?? []);
  const ours = given.filter(({ id }) => ids.has(id));
  await db.executeSql(rows.setOrder(schema), [
    name,
    ours.map(({ id }) => id),
    ours.map(({ order }) => order),
  ]);
  return given.map(({ id }) => ids.has(id));
}
