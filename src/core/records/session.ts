/** The steps of an agent's session, one JSON object a line: what a program may write to `$FACTORY_SESSION_FILE`, what the
 *  records of the other agents give, and what the view of a running session grows by. */
import * as z from 'zod';
import { reportedNumberSchema } from '../budget/usage.ts';
import type { Json } from '../json.ts';
import { once } from '../once.ts';

const at = once(() => z.string().max(40).exactOptional().describe('RFC 3339; when it came, if not given'));
const number = once(() => reportedNumberSchema().nullish());

export const sessionLineSchema = once(() =>
  z.discriminatedUnion('type', [
    z
      .object({
        type: z.literal('start'),
        at: at(),
        agent: z.string().exactOptional(),
        model: z.string().nullish(),
      })
      .describe('An agent begins; what was there before is of another try'),
    z
      .object({
        type: z.literal('turn'),
        at: at(),
        turn: z.int().positive().exactOptional().describe('Default: the next one'),
      })
      .describe('The model is asked'),
    z.object({ type: z.literal('text'), at: at(), text: z.string() }).describe('What the model says'),
    z
      .object({ type: z.literal('reasoning'), at: at(), text: z.string() })
      .describe('What it reports of its reasoning'),
    z
      .object({
        type: z.literal('call'),
        at: at(),
        id: z.string().exactOptional(),
        name: z.string().describe('Of the tool'),
        detail: z.string().exactOptional().describe('The command, the path, the query'),
        arguments: (z.json() as z.ZodType<Json>).exactOptional(),
      })
      .describe('It calls a tool'),
    z
      .object({
        type: z.literal('result'),
        at: at(),
        id: z.string().exactOptional().describe('Of the call; default: the oldest call without a result'),
        ok: z.boolean().exactOptional(),
        output: z.string().exactOptional(),
        ms: number(),
      })
      .describe('What the call gave'),
    z
      .object({
        type: z.literal('usage'),
        at: at(),
        turn: z.int().positive().exactOptional().describe('Default: the latest'),
        model: z.string().nullish(),
        input_tokens: number(),
        cached_input_tokens: number(),
        output_tokens: number(),
        reasoning_tokens: number(),
        cost_usd: number(),
        incomplete: z.literal(true).exactOptional().describe('The numbers are lower bounds'),
        first_ms: number().describe('Milliseconds until the first token'),
        ms: number().describe('Milliseconds that the turn took'),
      })
      .describe('What the turn used; a later line for the same turn replaces it'),
    z.object({ type: z.literal('note'), at: at(), text: z.string() }).describe('Anything else worth reading'),
  ]),
);
export type SessionLine = z.infer<ReturnType<typeof sessionLineSchema>>;

/** When a line of a program's standard output came; line 0: the program was started. */
export const lineTimeSchema = once(() => z.object({ line: z.int().nonnegative(), at: z.string() }));
export type LineTime = z.infer<ReturnType<typeof lineTimeSchema>>;
