/** A schedule: what workers submit again and again, and when. People write its file, workers those of what they did for it. */
import * as z from 'zod';
import { once } from '../once.ts';
import { labelForm, labelFormWords, priorityBound } from './job.ts';

/** What becomes of the times at which no worker ran. `once`: one run for all of them; `skip`: none. */
export const missedRules = ['once', 'skip'] as const;
export type MissedRule = (typeof missedRules)[number];

/** Letters of a name: with the time it is a run id. */
export const scheduleNameProblem = (name: string): string | undefined =>
  labelForm.test(name) ? undefined : `${JSON.stringify(name)} is not a name: ${labelFormWords}`;

const time = () => z.iso.datetime();

export const scheduleSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    name: z.string().regex(labelForm),
    cron: z.string().describe('Five fields, or a word such as @daily'),
    zone: z.string().describe('Name of the time zone of the fields'),
    missed: z.enum(missedRules),
    paused: z.boolean(),
    from: time().describe('Times up to this one do not count: its creation, or the end of its last pause'),
    created_at: time(),
    created_by: z.string(),
    request: z
      .object({
        cwd: z.string().describe('Absolute; the folder in which the command was typed'),
        source: z.string().describe('The pipeline or spec, as typed'),
        flags: z
          .record(z.string(), z.object({ value: z.json(), typed: z.array(z.string()).readonly() }))
          .describe('Settings of the run, by name'),
        vars: z.record(z.string(), z.string()),
        strict: z.boolean(),
        allow_dirty: z.boolean(),
        notify: z.string().exactOptional(),
        priority: z.int().min(-priorityBound).max(priorityBound),
      })
      .describe('What is submitted'),
  }),
);
export type Schedule = z.infer<ReturnType<typeof scheduleSchema>>;

const ofSchedule = {
  schema_version: z.literal(1),
  of: z.string().describe('`created_at` of the schedule: another one with its name begins anew'),
};

/** What workers have done for a schedule. */
export const scheduleProgressSchema = once(() =>
  z.object({
    ...ofSchedule,
    until: time().describe('Times up to this one are done: submitted, or missed'),
    last: z
      .object({ time: time(), run_id: z.string() })
      .nullable()
      .describe('The latest time of which a run was submitted'),
  }),
);
export type ScheduleProgress = z.infer<ReturnType<typeof scheduleProgressSchema>>;

/** Why a schedule submits nothing: a person is needed. Linked once, by the worker that notices it; removed with the next run. */
export const scheduleProblemSchema = once(() =>
  z.object({
    ...ofSchedule,
    time: time().describe('Of which no run was submitted'),
    text: z.string().describe('For people'),
  }),
);
export type ScheduleProblem = z.infer<ReturnType<typeof scheduleProblemSchema>>;

/** The run id of a time of a schedule: `nightly-20261129T020000Z`. In UTC, so that it differs also in an hour that is repeated. */
export const scheduledRunId = (name: string, at: Date): string =>
  `${name}-${at.toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;
