/** The progress of a build, as the state of a run's tools carries it. */
import * as z from 'zod';
import type { JsonObject } from '../json.ts';
import { once } from '../once.ts';
import { failureStages } from '../orders/failure-stage.ts';
import type { AheadCounts } from './ahead.ts';

export const failureBriefSchema = once(() =>
  z.object({
    stage: z.enum(failureStages),
    command: z.string().nullable(),
    exit_code: z.number().nullable(),
    excerpt: z.string().describe('Why, with what the output of the command says of it'),
    reminder: z.string(),
  }),
);
export type FailureBrief = z.infer<ReturnType<typeof failureBriefSchema>>;

const doneSchema = once(() =>
  z.object({
    id: z.string(),
    commit: z.string().nullable().describe('Null when the order changed nothing'),
    subject: z.string(),
    attempts: z.number().describe('0 when the workdir already had it'),
  }),
);

const askedAheadSchema = once(() =>
  z.object({
    id: z.string(),
    round: z.int().positive().describe('The orders of a round were asked together, in this order'),
    asker: z.string().exactOptional().describe('The node that asked, and a hash of its agent and model'),
    prompt_sha256: z.string().describe('Of the text of its first prompt, without notes of people'),
    answer: z
      .object({ node: z.string(), visit: z.int().positive(), sha256: z.string() })
      .exactOptional()
      .describe('The execution that got the answer, and the SHA-256 of its text'),
    end: z
      .enum(['used', 'wasted', 'unanswered'])
      .exactOptional()
      .describe('What became of it; absent while the order waits for its turn'),
  }),
);
export type AskedAhead = z.infer<ReturnType<typeof askedAheadSchema>>;

export const buildStateSchema = once(() =>
  z.object({
    version: z.literal(1),
    digests: z.record(z.string(), z.string()).describe('Digest of each order when it was first read, by id'),
    allow_exempt: z
      .boolean()
      .default(false)
      .describe('Orders may be exempt from verification without a planner'),
    head: z.string().nullable().describe('The commit that the next one is built on'),
    tree: z.string().exactOptional().describe('The tree of that commit, where it is known'),
    verified: z
      .array(z.string())
      .exactOptional()
      .describe('Commands that verified the project when the build began; they run for every order'),
    done: z.array(doneSchema()),
    ahead: z
      .array(askedAheadSchema())
      .exactOptional()
      .describe('Orders that were asked ahead of their turn; absent before the first round'),
    in_a_row: z
      .literal(true)
      .exactOptional()
      .describe('It was reported why independent orders are asked one after another'),
    current: z
      .object({
        id: z.string(),
        attempt: z.number().describe('1-based; 0 before the first'),
        snapshot: z.string().nullable().describe('The workspace when the attempt began'),
        touched: z.array(z.string()),
        written: z
          .object({
            tree: z.string().describe("The head's tree with the order's files as they were written"),
            modes: z.record(z.string(), z.number()).describe('Permission bits of those files, by path'),
            hashes: z
              .record(z.string(), z.string())
              .default({})
              .describe('SHA-256 of those files as a checkout has them, by path'),
          })
          .nullable()
          .default(null)
          .describe('The content of the commit, recorded before any check ran'),
        failed: z
          .object({ stage: z.enum(failureStages), reason: z.string() })
          .nullable()
          .describe('The failure that a factory order tool found in this attempt'),
        brief: failureBriefSchema().nullable().describe('Why the previous attempt failed'),
      })
      .nullable(),
  }),
);
export type BuildState = z.infer<ReturnType<typeof buildStateSchema>>;
export type CurrentOrder = NonNullable<BuildState['current']>;

/** What was asked ahead, for people: an order whose call got no answer does not count. */
export function aheadCounts(asked: readonly AskedAhead[], orders: number): AheadCounts {
  const count = (is: (one: AskedAhead) => boolean): number => asked.filter(is).length;
  return {
    orders,
    asked: count(({ answer, end }) => answer !== undefined || end === 'wasted'),
    used: count(({ end }) => end === 'used'),
    wasted: count(({ end }) => end === 'wasted'),
  };
}

/** The key of a build in the state of the run's tools. */
export const orderKey = 'order';

/** The state of a build as a run has recorded it; undefined before the first order. */
export const buildStateIn = (toolState: JsonObject | undefined): BuildState | undefined =>
  buildStateSchema().safeParse(toolState?.[orderKey]).data;
