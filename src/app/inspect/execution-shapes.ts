/** Executions of nodes, the branches and groups that they belong to, and the page of one. Fields are only ever added. */
import * as z from 'zod';
import { usageSchema } from '../../core/budget/usage.ts';
import type { Json } from '../../core/json.ts';
import { once } from '../../core/once.ts';
import { failureClasses, outcomeWords } from '../../core/outcome.ts';
import { branchEndWords } from '../../core/records/fork.ts';
import { questionSchema } from '../../core/records/question.ts';
import { failureCardSchema } from './failure-card.ts';
import { nodeSettingsSchema } from './node-settings.ts';
import { givenAnswerSchema } from './question-shapes.ts';
import { ms, time, waiting } from './shape-parts.ts';
import { waitReasons } from './wait.ts';

/** One execution of a node, finished or running. */
export const executionRowSchema = once(() =>
  z.object({
    node: z.string(),
    visit: z.int().positive().describe('1 for the first execution of the node, 2 for the second'),
    type: z.string(),
    label: z.string().describe("The node's label; its id where it has none"),
    branch: z.string().nullable().describe('The innermost branch that it belongs to'),
    state: z
      .enum(['running', 'suspended', 'interrupted', ...outcomeWords])
      .describe('`fail` also for the exit at which the run failed'),
    began_at: time(),
    ended_at: time().nullable(),
    took_ms: ms(),
    waited_ms: ms().describe('Milliseconds of it between attempts'),
    waits: z.array(z.object({ at: time(), ms: ms() })).describe('The pauses between its attempts, in order'),
    pauses: z
      .array(
        z.object({
          ...{ at: time(), ms: ms(), for: z.enum(waitReasons) },
          suspended: z.boolean().describe('Its branch or the run was suspended meanwhile'),
        }),
      )
      .describe('Its other waits, in order: within its model calls, for a time, and while it was suspended'),
    waiting: waiting(),
    model_ms: ms().describe('Milliseconds of it in model calls'),
    attempts: z.int().positive(),
    class: z.enum(failureClasses).nullable(),
    reason: z.string().describe('Why it failed; else empty'),
    notes: z.string(),
    cost_usd: z.number().nullable().describe('Null if unknown'),
    usage: usageSchema().nullable(),
    group: z.string().describe('Id of its group'),
    next: z.string().nullable().describe('The node that came after it'),
    how: z.string().describe('Why that node, in words; empty at an exit'),
    restart: z
      .int()
      .exactOptional()
      .describe('The number of the restart that its edge made; absent without `loop_restart`'),
    replayed: z.boolean(),
    human_answer: givenAnswerSchema().nullable().describe('Of a human gate; null for any other node'),
  }),
);
export type ExecutionRow = z.infer<ReturnType<typeof executionRowSchema>>;

/** A branch of a node with branches, or what a call of another pipeline does. */
export const branchRowSchema = once(() =>
  z.object({
    id: z.string().describe('That of its first node'),
    group: z.string().describe('Id of its group: in the run each round of a loop opens a branch of that id'),
    node: z.string().describe('The node that opened it'),
    opened_by: z.string().describe('`NODE@VISIT` of that node'),
    join: z.string().describe('The node at which the branches meet'),
    call: z.boolean().describe('True: of a call, the only one'),
    within: z.string().nullable().describe('The branch that contains it'),
    title: z.string(),
    state: z.enum([
      ...(['waiting', 'running', 'suspended', 'paused_answer', 'interrupted'] as const),
      ...branchEndWords,
    ]),
    waiting: waiting(),
    class: z.enum(failureClasses).nullable(),
    reason: z.string().describe('Why it failed, was cancelled or is suspended; else empty'),
    executions: z.array(z.string()).describe('`NODE@VISIT`, in order, without those of branches in it'),
    began_at: time().nullable(),
    ended_at: time().nullable(),
    took_ms: ms().describe('Milliseconds of its executions'),
    cost_usd: z.number().nullable().describe('Null if unknown'),
  }),
);
export type BranchRow = z.infer<ReturnType<typeof branchRowSchema>>;

/** A work order, a part of the pipeline without orders, one round of a loop, a branch or a call. */
export const executionGroupSchema = once(() =>
  z.object({
    id: z.string().describe('`WO-01` for an order; else a name that is unique in the run'),
    title: z.string(),
    kind: z.enum(['order', 'part', 'branch', 'call']),
    opened_by: z
      .string()
      .nullable()
      .describe('Of a branch or a call: `NODE@VISIT` of the node that opened it'),
    state: z.enum(['waiting', 'running', 'suspended', 'done', 'failed', 'cancelled']),
    attempts: z.array(
      z.object({
        number: z.int().positive(),
        state: z.enum(['running', 'done', 'failed']),
        why: z.string().describe('Why it failed; else empty'),
        executions: z.array(z.string()).describe('`NODE@VISIT`, in order'),
      }),
    ),
    commit: z.string().nullable(),
    took_ms: ms(),
  }),
);
export type ExecutionGroup = z.infer<ReturnType<typeof executionGroupSchema>>;

/** A text of an execution, whole or its end. */
const shownTextSchema = once(() =>
  z.object({
    name: z.string().describe('Path in the folder of the execution'),
    text: z.string(),
    bytes: z.int().describe('Of the whole file'),
    from: z.int().describe('Byte at which `text` begins'),
  }),
);
export type ShownText = z.infer<ReturnType<typeof shownTextSchema>>;

/** The page of one execution. */
export const executionViewSchema = once(() =>
  executionRowSchema().extend({
    schema_version: z.literal(1),
    settings: nodeSettingsSchema(),
    excerpt: z.string().describe('The lines of its output that say what failed; else empty'),
    failed: failureCardSchema()
      .pick({ excerpt: true, place: true })
      .nullable()
      .describe('As on the card of its run; null unless it failed and printed something'),
    question: questionSchema().nullable().describe('Of a human gate; null for any other node'),
    commands: z.array(z.object({ command: z.string(), exit_code: z.int().nullable() })),
    prompt: shownTextSchema().nullable(),
    answer: shownTextSchema().nullable(),
    output: z.array(shownTextSchema()).describe('What its programs printed'),
    context: z.object({ set: z.record(z.string(), z.json() as z.ZodType<Json>), unset: z.array(z.string()) }),
    changes: z
      .object({ created: z.array(z.string()), modified: z.array(z.string()), deleted: z.array(z.string()) })
      .describe('Paths in the workspace'),
    edges: z
      .array(z.object({ to: z.string(), condition: z.string(), matched: z.boolean(), why_not: z.string() }))
      .describe('Every edge that was considered'),
    files: z.array(z.object({ name: z.string(), bytes: z.int() })),
    sandbox: z.string().nullable(),
    withheld: z
      .boolean()
      .describe('True: texts are not shown because they may contain the holdout and the run is unfinished'),
  }),
);
export type ExecutionView = z.infer<ReturnType<typeof executionViewSchema>>;
