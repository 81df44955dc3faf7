/** The class of a failure, and how it was determined. */

import * as z from 'zod';
import { once } from './once.ts';
import { failureClasses } from './outcome.ts';

/** `said`: reported by the node itself; `evidence`: how its program ended, or what the scenario harness reported;
 *  `rerun`: it ran once more in a clean copy; `words`: a guess from its output; `default`: nothing points to another
 *  class. */
export const attributionWays = ['said', 'evidence', 'rerun', 'words', 'default'] as const;

export const attributionSchema = once(() =>
  z.object({
    class: z.enum(failureClasses),
    how: z.enum(attributionWays),
    why: z.string().describe('The evidence, in words'),
  }),
);
export type Attribution = z.infer<ReturnType<typeof attributionSchema>>;

/** How a failed scenario ended when it was run once more in a clean copy of the workspace. */
export const rerunSchema = once(() =>
  z.object({
    result: z.enum(['passed', 'alike', 'differently']),
    first_exit_code: z.number().nullable(),
    exit_code: z.number().nullable().describe('Null if no program ran to its end'),
    failure_class: z.enum(failureClasses).nullable().describe('Of the second failure'),
    failure_reason: z.string(),
  }),
);
export type Rerun = z.infer<ReturnType<typeof rerunSchema>>;

/** How often a node has failed in the same way in a loop with an agent, without a relevant change of the workspace. */
export const alikeSchema = once(() =>
  z.object({
    signature: z.string().describe('SHA-256 of node, class, command and normalised message'),
    head: z.string().describe('The message, shortened'),
    count: z.int().positive(),
    visits: z.array(z.int().positive()).describe('The latest of them, ten at most'),
    step: z.int().describe('Number of the execution that was counted last, over the whole run'),
    after: z.string().describe('The workspace after that execution: the name of a snapshot'),
  }),
);
export type Alike = z.infer<ReturnType<typeof alikeSchema>>;
