/** The card of a run that needs attention: what failed, where, and what to do. The page, `why`, the end of a run and the notice draw it. */
import * as z from 'zod';
import { actionKinds } from '../../core/action-commands.ts';
import { once } from '../../core/once.ts';

const failureExcerptSchema = once(() =>
  z.object({
    lines: z.array(z.string()).describe('At most ten'),
    at: z.int().nullable().describe('Index of the line that says what failed; null if none does'),
    of: z
      .string()
      .nullable()
      .describe('The file in the folder of the execution; null: they are quoted without their file'),
    first: z.int().positive().nullable().describe('Number of the first line in that file, from 1'),
  }),
);
export type FailureExcerpt = z.infer<ReturnType<typeof failureExcerptSchema>>;

const failurePlaceSchema = once(() =>
  z.object({ file: z.string().describe('Path in the workspace'), line: z.int().positive() }),
);

export const cardActionSchema = once(() =>
  z.object({
    kind: z.enum(actionKinds),
    words: z.string().describe('What it does, and what has to be done before'),
    command: z.string().describe('The command; `TEXT` and `DIR` in it are for the user to write'),
  }),
);

export const failureCardSchema = once(() =>
  z.object({
    line: z.string().describe('The line that says what failed, or what the run waits for'),
    node: z.string().nullable().describe('`NODE@VISIT` that shows it'),
    command: z.string().nullable().describe('The command that failed, whole'),
    exit_code: z.int().nullable().describe('Of that command'),
    place: failurePlaceSchema().nullable().describe('The place in the workspace that its output names'),
    excerpt: failureExcerptSchema()
      .nullable()
      .describe('Lines of its output; null where there is none, or it is withheld'),
    actions: z.array(cardActionSchema()).describe('At most three, the best first'),
  }),
);
export type FailureCard = z.infer<ReturnType<typeof failureCardSchema>>;
