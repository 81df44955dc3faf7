/** `calls.jsonl`: every call of a model that costs something, as it begins, goes on and ends. A call without an end was
 *  cut off with its engine. */
import * as z from 'zod';
import { Usage } from './spent.ts';

const about = {
  schema_version: z.literal(1),
  at: z.string(),
  node: z.string(),
  visit: z.int(),
  attempt: z.int(),
};

export const CallRecord = z.lazy(() =>
  z.discriminatedUnion('type', [
    z.object({
      ...about,
      type: z.literal('CallStarted'),
      agent: z.string(),
      model: z.string().nullable().describe('Null where the agent itself chooses'),
      input_tokens: z.number().describe('Estimated from the prompt'),
      unseen: z
        .literal(true)
        .exactOptional()
        .describe('Its program makes calls of its own: cut off, it has used more than anybody knows'),
    }),
    z.object({
      ...about,
      type: z.literal('CallTold'),
      usage: Usage.describe('Of the call that has begun, as far as it is known'),
      sends: z.number().describe('Input tokens, estimated, of what is on its way beyond that'),
    }),
    z.object({
      ...about,
      type: z.literal('CallEnded'),
      ended: z
        .enum(['told', 'untold', 'cut', 'free'])
        .describe('Usage told or not; cut off by a signal; or refused before a model worked'),
      usage: Usage.nullable(),
      cost_usd: z.number().nullable().describe('By the prices of that time; null where it is not known'),
      run: z.string().exactOptional().describe('Another run, started by this stage, that made the call'),
      told: z
        .string()
        .exactOptional()
        .describe('Which of the calls that were told of with it this is: each is taken over once'),
    }),
  ]),
);
export type CallRecord = z.infer<typeof CallRecord>;
