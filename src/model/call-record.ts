/** Lines of the journal: start, usage and end of every model call that has a cost. A call without an end was interrupted by a
 *  crash. */

import * as z from 'zod';
import { once } from './once.ts';
import { usageSchema } from './spent.ts';

const about = once(() => ({
  schema_version: z.literal(1),
  at: z.string(),
  node: z.string(),
  visit: z.int(),
  attempt: z.int(),
}));

export const callRecordSchema = once(() =>
  z.discriminatedUnion('type', [
    z.object({
      ...about(),
      type: z.literal('CallStarted'),
      agent: z.string(),
      model: z.string().nullable().describe('Null if the agent chooses the model itself'),
      input_tokens: z.number().describe('Estimated from the prompt'),
      unseen: z
        .literal(true)
        .exactOptional()
        .describe(
          'The agent program makes further calls itself: interrupted, it has used more than is known',
        ),
    }),
    z.object({
      ...about(),
      type: z.literal('CallTold'),
      usage: usageSchema().describe('Known usage of the call so far'),
      sends: z.number().describe('Estimated input tokens that are sent but not yet in `usage`'),
    }),
    z.object({
      ...about(),
      type: z.literal('CallEnded'),
      ended: z
        .enum(['told', 'untold', 'cut', 'free'])
        .describe(
          'Usage reported or not; interrupted by a signal or an outage; or refused before a model worked',
        ),
      usage: usageSchema().nullable(),
      cost_usd: z.number().nullable().describe('At the prices of that time; null if unknown'),
      run: z.string().exactOptional().describe('Another run, started by this node, that made the call'),
      told: z
        .string()
        .exactOptional()
        .describe('Identifies the call in the report of that run, so that each is counted once'),
    }),
  ]),
);
export type CallRecord = z.infer<ReturnType<typeof callRecordSchema>>;
