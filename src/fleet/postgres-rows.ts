/** Jobs as rows of pg-boss's table, and the statements for what its calls do not offer: the order of claims, who has a job, and
 *  what is due next. States of rows are changed by its calls only. */
import type { JobTarget } from '../core/contracts/job-queue.ts';
import { type Job, jobSchema, type QueuedJob } from '../core/records/job.ts';

/** Seconds without a sign of life after which a worker's jobs are others'. pg-boss takes no less. */
export const heartbeatSeconds = 10;
const daySeconds = 86_400;
/** A worker has a job for a day at most; then pg-boss gives it to another. */
export const longestClaimMs = 23 * 3_600_000;

/** Options of pg-boss's queue. Nothing that waits is deleted, and no take-over is the last one. */
export const claimRules = {
  policy: 'exclusive',
  heartbeatSeconds,
  expireInSeconds: daySeconds,
  retryLimit: 1_000_000,
  retryDelay: 0,
  retentionSeconds: 50 * 365 * daySeconds,
  deleteAfterSeconds: 0,
} as const;

/** When held jobs are due: never. */
const never = '9999-01-01T00:00:00.000Z';

/** What a row carries: the job, its place in the order of claims, and the worker that has it or had it last. */
export type RowData = { readonly job: Job; readonly order: string; readonly worker?: string };

export type JobRow = {
  readonly id: string;
  readonly data: RowData;
  readonly state: string;
  readonly due: boolean;
  readonly held: boolean;
  readonly start_after: Date;
  readonly started_on: Date | null;
};

const columns = (schema: string) =>
  `id, data, state::text AS state, start_after, started_on,
   start_after <= ${schema}.job_now() AS due, start_after >= '${never}' AS held`;

/** $1 is pg-boss's name of the queue, here and below. All jobs, or those in one state. */
export const listRows = (schema: string, only?: QueuedJob['state']): string =>
  `SELECT ${columns(schema)} FROM ${schema}.job WHERE name = $1 AND state <= 'active'
   ${only === undefined ? '' : `AND ${isIn[only](`${schema}.job_now()`)}`}
   ORDER BY priority DESC, created_on, singleton_key`;

/** What `jobOfRow` says of a row, in the database. */
const isIn: Readonly<Record<QueuedJob['state'], (now: string) => string>> = {
  running: () => "state = 'active'",
  waiting: (now) => `state < 'active' AND start_after <= ${now}`,
  later: (now) => `state < 'active' AND start_after > ${now} AND start_after < '${never}'`,
  held: () => `state < 'active' AND start_after >= '${never}'`,
};

/** $2: run id. With `lock`, others wait to change it. */
export const rowOf = (schema: string, lock: 'lock' | '' = ''): string =>
  `SELECT ${columns(schema)} FROM ${schema}.job WHERE name = $1 AND singleton_key = $2 AND state <= 'active'
   ${lock === '' ? '' : 'FOR UPDATE'}`;

/** Held until the transaction ends. */
export const lockOf = (schema: string, what: string): string =>
  `SELECT pg_advisory_xact_lock(hashtextextended('factory ${schema} ${what}', 0))`;

/** Where workers and people who watch hear of changes. */
export const channelOf = (schema: string): string => `factory_${schema}`;
export const tellOthers = (schema: string): string => `SELECT pg_notify('${channelOf(schema)}', '')`;

/** pg-boss takes jobs of one priority in the order of this column. $2: ids, $3: times. */
export const setOrder = (schema: string): string =>
  `UPDATE ${schema}.job j SET created_on = new.at
   FROM unnest($2::uuid[], $3::timestamptz[]) AS new(id, at) WHERE j.name = $1 AND j.id = new.id`;

/** $2: ids, $3: the worker that has them. */
export const setWorker = (schema: string): string =>
  `UPDATE ${schema}.job SET data = data || jsonb_build_object('worker', $3::text)
   WHERE name = $1 AND id = ANY($2::uuid[])`;

/** $2: ids, $3: their data, $4: their priorities. */
export const setTakenOver = (schema: string): string =>
  `UPDATE ${schema}.job j SET data = new.data::jsonb, priority = new.priority
   FROM unnest($2::uuid[], $3::text[], $4::int[]) AS new(id, data, priority) WHERE j.name = $1 AND j.id = new.id`;

/** How many jobs of each combination of labels run, of those that have one. */
export const countGroups = (schema: string): string =>
  `SELECT group_id, (count(*) FILTER (WHERE state = 'active'))::int AS running FROM ${schema}.job
   WHERE name = $1 AND group_id IS NOT NULL AND state <= 'active' GROUP BY group_id`;

/** What a dead worker has left: pg-boss has given it back. */
const left = "name = $1 AND state = 'retry'";

export const leftRows = (schema: string): string =>
  `SELECT id, data, group_id FROM ${schema}.job WHERE ${left} AND start_after <= ${schema}.job_now()
   ORDER BY priority DESC, created_on, singleton_key FOR UPDATE SKIP LOCKED`;

/** Rows that a claim passes over, while their lock is held. $2: runs that this worker leaves to others. */
const passed = `((${left}) OR (name = $1 AND state < 'active' AND singleton_key = ANY($2::text[])))`;
export const anyPassed = (schema: string): string =>
  `SELECT EXISTS (SELECT 1 FROM ${schema}.job WHERE ${passed}) AS found`;
export const lockPassed = (schema: string): string =>
  `SELECT id FROM ${schema}.job WHERE ${passed} FOR UPDATE SKIP LOCKED`;

/** Whether a worker is silent that has jobs, and whether jobs wait that a dead one has left. */
export const anyLeft = (schema: string): string =>
  `SELECT EXISTS (SELECT 1 FROM ${schema}.job WHERE name = $1 AND state = 'active'
     AND heartbeat_on < ${schema}.job_now() - interval '${heartbeatSeconds} seconds') AS silent,
   EXISTS (SELECT 1 FROM ${schema}.job WHERE ${left}) AS "left"`;

/** Whether a job is due that no worker has had. */
export const anyDue = (schema: string): string =>
  `SELECT EXISTS (SELECT 1 FROM ${schema}.job WHERE name = $1 AND state = 'created'
   AND start_after <= ${schema}.job_now()) AS found`;

/** Milliseconds until the next job is due; null if none is asleep. */
export const nextDue = (schema: string): string =>
  `SELECT (extract(epoch FROM min(start_after) - ${schema}.job_now()) * 1000)::float8 AS ms FROM ${schema}.job
   WHERE name = $1 AND state < 'active' AND start_after > ${schema}.job_now() AND start_after < '${never}'`;

/** $2: ids, $3: the attempts in which they were taken. */
export const stillHeld = (schema: string): string =>
  `SELECT j.id FROM ${schema}.job j JOIN unnest($2::uuid[], $3::int[]) AS mine(id, attempt)
   ON j.id = mine.id AND j.retry_count = mine.attempt WHERE j.name = $1 AND j.state = 'active'`;

export const groupOf = (labels: readonly string[]): string => labels.join(',');
export const labelsIn = (group: string): readonly string[] => group.split(',');

/** For pg-boss: when a job may be taken. */
export const startAfter = (target: JobTarget): string | number =>
  target === 'now' ? 0 : target === 'held' ? never : target.dueAt;

/** A row for pg-boss to add. */
export const newRow = (id: string, data: RowData, target: JobTarget): object => ({
  id,
  data,
  priority: data.job.priority,
  singletonKey: data.job.run_id,
  ...(target === 'now' ? {} : { startAfter: startAfter(target) }),
  ...(data.job.labels.length === 0 ? {} : { group: { id: groupOf(data.job.labels) } }),
});

/** Undefined for a job that another release has written and this one cannot read: it is left to workers that can. */
export function readData({ job, order, worker }: RowData): RowData | undefined {
  const read = jobSchema().safeParse(job);
  return read.success ? { job: read.data, order, ...(worker === undefined ? {} : { worker }) } : undefined;
}

export function jobOfRow({ data, state, due, held, start_after, started_on }: JobRow): QueuedJob | undefined {
  const read = readData(data);
  if (read === undefined) return undefined;
  const { job, worker = '' } = read;
  if (state === 'active')
    return { job, state: 'running', worker, since: (started_on ?? new Date(0)).toISOString() };
  if (held) return { job, state: 'held' };
  return due ? { job, state: 'waiting' } : { job, state: 'later', due_at: start_after.toISOString() };
}

const states = { running: 0, waiting: 1, later: 2, held: 3 } as const;
/** Running, waiting in the order of claims, later by time, held. */
export const byState = (jobs: readonly QueuedJob[]): readonly QueuedJob[] =>
  [...jobs].sort(
    (a, b) =>
      states[a.state] - states[b.state] ||
      (a.state === 'later' && b.state === 'later' ? Date.parse(a.due_at) - Date.parse(b.due_at) : 0),
  );

/** Places in the order of claims: time of submission, then run id. Times of the database have microseconds. */
export function ordersOf(jobs: readonly Job[]): ReadonlyMap<string, string> {
  const sorted = [...jobs].sort(
    (a, b) => Date.parse(a.submitted_at) - Date.parse(b.submitted_at) || (a.run_id < b.run_id ? -1 : 1),
  );
  const orders = new Map<string, string>();
  let last = Number.NaN;
  let rank = 0;
  for (const { run_id, submitted_at } of sorted) {
    const at = Date.parse(submitted_at);
    rank = at === last ? Math.min(rank + 1, 999) : 0;
    last = at;
    const iso = new Date(at).toISOString();
    orders.set(run_id, iso.replace('Z', `${String(rank).padStart(3, '0')}Z`));
  }
  return orders;
}
