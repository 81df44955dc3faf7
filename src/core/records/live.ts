/** `.live.jsonl`: what the running nodes print and their models say, for people who watch from another process. */
import * as z from 'zod';
import { once } from '../once.ts';

export const liveTextSchema = once(() =>
  z.object({
    at: z.string().describe('RFC 3339, UTC'),
    node: z.string(),
    visit: z.int().positive(),
    channel: z
      .enum(['stdout', 'stderr', 'answer', 'reasoning', 'session'])
      .describe('`session`: the session of its agent has grown'),
    text: z
      .string()
      .describe(
        'The printed text, secrets masked; a long line comes in pieces. Of a session: its bytes so far, a number a line',
      ),
  }),
);
export type LiveText = z.infer<ReturnType<typeof liveTextSchema>>;
