/** What the commands of the queue and their endpoints answer with: its jobs and what holds them back; what was submitted or changed. */
import * as z from 'zod';
import { once } from '../once.ts';
import { jobReasons } from './job.ts';

const time = (of: string) => z.string().nullable().describe(`RFC 3339; ${of}`);

export const queueJobSchema = once(() =>
  z.object({
    run_id: z.string(),
    title: z.string().describe('For people'),
    state: z.enum(['running', 'waiting', 'later', 'held']),
    reason: z.enum(jobReasons).nullable().describe('Why it sleeps or is held; null for the other states'),
    why: z.string().describe('What it waits for, for people; empty if nothing holds it back'),
    priority: z.int().describe('A higher one goes first'),
    labels: z.array(z.string()),
    submitted_at: z.string().describe('RFC 3339'),
    submitted_by: z.string(),
    due_at: time('until then it sleeps; null for the other states'),
    waited_ms: z
      .int()
      .nullable()
      .describe('Of a waiting one: since it was submitted, or is due again; null for the other states'),
    after: z.string().nullable().describe('Run id of the job that has to leave the queue first'),
    worker: z.string().nullable().describe('`name` of the worker that has it'),
    since: time('when that worker took it'),
    taken_over: z.int().describe('How often a worker took it from a dead one'),
    has_run: z.boolean().describe('True: its run directory exists'),
    status: z
      .string()
      .nullable()
      .describe('Of its run, where a worker has it or it is held; null: the run has not begun'),
    next: z.string().describe('The command to run next; empty if there is none'),
  }),
);
export type QueueJobRow = z.infer<ReturnType<typeof queueJobSchema>>;

export const queueWorkerSchema = once(() =>
  z.object({
    name: z.string(),
    host: z.string(),
    pid: z.int(),
    state: z
      .enum(['alive', 'dead', 'unknown'])
      .describe('`unknown`: on another host, and not watched for long enough'),
    since: z.string().describe('RFC 3339'),
    version: z.string(),
    slots: z.int(),
    busy: z.int().describe('How many runs it executes'),
    engine_starts: z.int().describe('How many runs it has begun or resumed since it began'),
    take_overs: z.int().describe('How many of them it took from dead workers'),
    labels: z.array(z.string()).nullable().describe('Null: it takes jobs of any label'),
    draining: z.boolean().describe('True: it takes no more'),
    refuses: z.string().describe('Why it takes nothing now, such as too little disk; else empty'),
    leaves: z.array(z.object({ run_id: z.string(), why: z.string() })).describe('What it cannot execute'),
  }),
);
export type QueueWorkerRow = z.infer<ReturnType<typeof queueWorkerSchema>>;

export const queueScheduleSchema = once(() =>
  z.object({
    name: z.string(),
    cron: z.string(),
    zone: z.string(),
    command: z.string().describe('What it submits'),
    next: time('when it submits next; null: paused, or never'),
    last: time('of the latest time of which it submitted a run'),
    last_run: z.string().nullable().describe('Id of that run'),
    paused: z.boolean(),
    problem: z.string().describe('Why it submits nothing, so that a person is needed; else empty'),
  }),
);
export type QueueScheduleRow = z.infer<ReturnType<typeof queueScheduleSchema>>;

/** An account at a provider that takes no calls until a time. */
export const queueHoldSchema = once(() =>
  z.object({
    id: z.string().describe('As `factory queue release` takes it'),
    agent: z.string(),
    endpoint: z.string(),
    model: z.string(),
    until: z.string().describe('RFC 3339'),
    since: z.string().describe('RFC 3339'),
    runs: z.array(z.string()).describe('Ids of the runs that wait for it'),
  }),
);
export type QueueHoldRow = z.infer<ReturnType<typeof queueHoldSchema>>;

export const queueCapSchema = once(() =>
  z.object({
    label: z.string().nullable().describe('Null: of all runs of the folder'),
    measure: z.enum(['cost_usd', 'tokens', 'runs']).describe('`runs`: at once; the others: per day'),
    limit: z.number(),
    spent: z.number().describe('Of `runs`: those that run now'),
    reserved: z.number().describe('By calls that are under way'),
    rest: z.number(),
    resets_at: time('the beginning of the next day; null for `runs`'),
    stops: z.array(z.string()).describe('Ids of the runs that it holds back'),
  }),
);
export type QueueCapRow = z.infer<ReturnType<typeof queueCapSchema>>;

export const queueReportSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    at: z.string().describe('RFC 3339'),
    runs_dir: z.string(),
    place: z.string().describe('`folder`, or `postgres://HOST/DATABASE`'),
    counts: z.object({
      ...{ running: z.int(), waiting: z.int(), later: z.int(), held: z.int() },
      needs_person: z
        .int()
        .describe('Held or sleeping ones that ask a question, and held ones that cannot continue'),
      needs_person_later: z.int().describe('Of those: they sleep until the deadline of their question'),
    }),
    jobs: z.array(queueJobSchema()).describe('Running, waiting in their order, later by time, held'),
    workers: z.array(queueWorkerSchema()),
    schedules: z.array(queueScheduleSchema()),
    holds: z.array(queueHoldSchema()),
    caps: z.array(queueCapSchema()),
  }),
);
export type QueueReport = z.infer<ReturnType<typeof queueReportSchema>>;

/** `factory submit` */
export const submitReportSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    runs_dir: z.string(),
    place: z.string().describe('Where the queue is'),
    runs: z
      .array(
        z.object({
          run_id: z.string(),
          title: z.string(),
          state: z.enum(['running', 'waiting', 'later', 'held', 'begun']),
          due_at: z.string().nullable(),
          already: z.boolean().describe('True: its key is known, and nothing was changed'),
        }),
      )
      .describe('In their order'),
    warnings: z.array(z.string()),
  }),
);
export type SubmitReport = z.infer<ReturnType<typeof submitReportSchema>>;

/** `factory queue move`, `hold` and `drop` */
export const queueChangeSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    run_id: z.string(),
    title: z.string(),
    answer: z
      .enum(['moved', 'held', 'dropped', 'ended', 'stopping'])
      .describe(
        '`ended`: the run came to its end first, and its job left the queue; `stopping`: it was asked to, and has not yet',
      ),
    state: queueJobSchema().shape.state.nullable().describe('Null: it is in the queue no more'),
    due_at: z.string().nullable(),
    priority: z.int(),
    has_run: z.boolean().describe('True: the run has begun, and its directory stays'),
  }),
);
export type QueueChange = z.infer<ReturnType<typeof queueChangeSchema>>;
