/** The session of an agent as people see it, whatever it was recorded by. Fields are only ever added. */
import * as z from 'zod';
import { usageSchema } from '../../core/budget/usage.ts';
import { once } from '../../core/once.ts';
import { executionRowSchema } from './execution-shapes.ts';

/** What a session was made from. */
const sessionSources = ['live', 'transcript', 'events', 'command', 'answer', 'none'] as const;

const ms = once(() => z.number().nullable().describe('Milliseconds; null if unknown'));

const sessionItemSchema = once(() =>
  z.object({
    number: z.int().nonnegative().describe('From 0'),
    turn: z.int().nonnegative().describe('0: before the first turn'),
    at: z.string().nullable().describe('RFC 3339, UTC: when it came; null if that was not recorded'),
    kind: z.enum(['text', 'reasoning', 'call', 'note']),
    text: z.string().describe('What was said; of a call the command, the path, the query'),
    call: z
      .object({
        name: z.string().describe('Of the tool'),
        arguments: z.string(),
        state: z
          .enum(['running', 'completed', 'failed', 'none'])
          .describe('`none`: it ended without a result'),
        output: z.string(),
        output_lines: z.int(),
        ms: ms(),
      })
      .nullable(),
    cut: z.boolean().describe('True: a text is cut here; ask for the item alone'),
  }),
);
export type ShownItem = z.infer<ReturnType<typeof sessionItemSchema>>;

const sessionTurnSchema = once(() =>
  z.object({
    number: z.int().positive(),
    at: z.string().nullable().describe('RFC 3339, UTC: when the model was asked'),
    ms: ms(),
    first_ms: z
      .number()
      .nullable()
      .describe(
        'Milliseconds until the first token, of an agent program until its first message; null if unknown',
      ),
    usage: usageSchema().nullable(),
    cost_usd: z.number().nullable().describe('Null if unknown'),
  }),
);
export type ShownTurn = z.infer<ReturnType<typeof sessionTurnSchema>>;

export const sessionSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    ...executionRowSchema().pick({ node: true, visit: true, state: true, attempts: true }).shape,
    source: z
      .enum(sessionSources)
      .describe(
        'What it is made from: what grows while it works, the transcript of a tool loop, the events of an agent program, what a command wrote, an answer',
      ),
    agent: z.string().nullable(),
    model: z.string().nullable(),
    first_ms: sessionTurnSchema().shape.first_ms,
    usage: usageSchema().nullable().describe('Of the execution; while it runs, of its turns so far'),
    cost_usd: z.number().nullable().describe('Null if unknown'),
    counts: z.object({ turns: z.int(), calls: z.int(), failed: z.int(), items: z.int() }),
    turns: z.array(sessionTurnSchema()).describe('Those of `items`'),
    items: z.array(sessionItemSchema()).describe('In order, from the one that was asked for'),
    found: z.array(z.int()).exactOptional().describe('Numbers of the items with the words sought'),
    withheld: z
      .boolean()
      .describe('True: not shown because it may contain the holdout and the run is unfinished'),
  }),
);
export type Session = z.infer<ReturnType<typeof sessionSchema>>;
