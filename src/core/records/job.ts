/** A job: a run that is to be executed, as a queue keeps it. */
import * as z from 'zod';
import { once } from '../once.ts';

/** Priorities lie between -999 and 999; a higher one goes first. */
export const priorityBound = 999;

/** The form of a label, and of a name that a user gives a job. */
export const labelForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
export const labelFormWords = 'up to 64 letters, digits, ".", "_" and "-", the first a letter or a digit';

/** Why a job is not due. `person`: a user put it on hold. `stopped`: a person stopped its run. `question`: the run asks one.
 *  `attention`: its run cannot continue by itself. `after`: another job goes first. `not_before`: the time of its submission. `crash`:
 *  its engine has crashed again and again. `elsewhere`: another host executes its run. The others are what its run is suspended for. */
export const jobReasons = [
  ...(['person', 'stopped', 'question', 'attention', 'after', 'not_before'] as const),
  ...(['crash', 'elsewhere'] as const),
  ...(['quota', 'outage', 'wait', 'cap', 'disk'] as const),
] as const;
export type JobReason = (typeof jobReasons)[number];

export const jobSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    run_id: z.string().describe('Of the run to begin or to resume; the key of the job'),
    title: z.string().describe('For people: the name that was given, else that of the spec or pipeline'),
    priority: z.int().min(-priorityBound).max(priorityBound),
    submitted_at: z.string().describe('RFC 3339'),
    submitted_by: z.string(),
    labels: z.array(z.string()).readonly().describe('Sorted, no repeats'),
    request: z
      .object({
        cwd: z.string().describe('Absolute; the folder in which the command runs'),
        run: z.array(z.string()).readonly(),
        resume: z.array(z.string()).readonly(),
        follow: z
          .array(z.string())
          .readonly()
          .exactOptional()
          .describe(
            'Arguments of `factory follow`: the job has no run, and looks at a pull request again and again',
          ),
      })
      .describe('Arguments of `factory run` and `factory resume`, without run id and runs directory'),
    after: z.string().exactOptional().describe('Run id of the job that has to leave the queue first'),
    reason: z
      .object({
        kind: z.enum(jobReasons),
        text: z.string(),
        at: z.string().describe('When it was put there'),
        until: z.string().exactOptional().describe('Until when it sleeps'),
      })
      .exactOptional()
      .describe('Why it is not due, or was not; in words for people'),
    crash: z
      .object({ execution: z.string(), times: z.int().positive() })
      .exactOptional()
      .describe(
        'The execution (NODE@N; empty before the first) in which engines have crashed last, and how many',
      ),
    taken_over: z.int().positive().exactOptional().describe('How often a worker took it from a dead one'),
  }),
);
export type Job = z.infer<ReturnType<typeof jobSchema>>;

/** Where a job is: due and waiting for a place; asleep until a time; held until it is released; in the hands of a
 *  worker. */
export type JobPlace =
  | { readonly state: 'waiting' }
  | { readonly state: 'later'; readonly due_at: string }
  | { readonly state: 'held' }
  | { readonly state: 'running'; readonly worker: string; readonly since: string };

export type QueuedJob = { readonly job: Job } & JobPlace;
