/** A run in a list: the same row for the command line, the HTTP API and the page. Fields are only ever added. */
import * as z from 'zod';
import { spentSchema } from '../../core/budget/usage.ts';
import { once } from '../../core/once.ts';
import { pausedWords } from '../../core/outcome.ts';
import { cardActionSchema } from './failure-card.ts';
import { openQuestionSchema } from './question-shapes.ts';
import { ms, time, waiting } from './shape-parts.ts';

/** Where a fork began. */
const forkOriginSchema = once(() =>
  z.object({
    ...{ run_id: z.string(), node: z.string(), visit: z.number(), before: z.boolean() },
    changed: z
      .array(z.string())
      .describe('What it has otherwise: NODE.ATTRIBUTE that was set, pipeline, var NAME, agent, model, …'),
  }),
);

/** A run in a list. */
export const runRowSchema = once(() =>
  z.object({
    run_id: z.string(),
    title: z
      .string()
      .describe(
        "Its name, else the pipeline's label, the first heading of its spec, or the name of the file",
      ),
    pipeline: z.string().describe('Path of the pipeline file, as the user typed it'),
    pipeline_file: z.string().exactOptional().describe('Its absolute path, where `pipeline` is relative'),
    status: z.enum([
      'running',
      'completed',
      'overridden',
      'failed',
      'interrupted',
      'crashed',
      'unreadable',
      ...pausedWords,
    ]),
    waiting: waiting(),
    needs_attention: z.boolean(),
    dismissed: z
      .boolean()
      .describe('A person has dismissed it from those that need attention, and nothing has happened since'),
    headline: z
      .string()
      .describe('What one needs to know first: what runs now, why it failed, or what it has made'),
    reason: z.string().describe('Why it failed or what it waits for; else empty'),
    started_at: time().describe('RFC 3339, UTC; empty if the manifest cannot be read'),
    ended_at: time().nullable().describe('Of its last record; null while it runs'),
    elapsed_ms: ms().describe('Milliseconds of running; of a running one, until now'),
    spent: spentSchema(),
    progress: z
      .object({ done: z.int(), total: z.int(), current: z.string().nullable() })
      .nullable()
      .describe('Work orders; null where there are none'),
    at_node: z.string().nullable().describe('The node that runs, or that a resume continues with'),
    next_node: z.string().describe('As `at_node`; empty where that is null'),
    failed_node: z.string().nullable().describe('The node of the latest failure'),
    wake_at: time().nullable().describe('When a suspended run can resume'),
    delivered: z.boolean().nullable().describe('Null for a run that has nothing to deliver'),
    forked_from: forkOriginSchema().nullable(),
    replay_of: z.string().nullable(),
    question: openQuestionSchema()
      .nullable()
      .describe('What it asks a person, of several the first without an answer; null if it asks nothing'),
    questions: z.array(openQuestionSchema()).describe('All that it asks: each branch may ask'),
    next: z.string().describe('The command to run next; empty if there is none'),
    action: cardActionSchema().nullable().describe('What that command does; null if there is none'),
    acts: z
      .array(z.enum(['answer', 'steer', 'stop', 'resume', 'fork', 'deliver', 'replay', 'dismiss', 'remove']))
      .describe('What can be done with it now'),
    run_dir: z.string(),
  }),
);
export type RunRow = z.infer<ReturnType<typeof runRowSchema>>;
