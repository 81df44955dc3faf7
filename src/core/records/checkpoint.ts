/** The state of a run, and `checkpoint.json`: what of it people and scripts read, rewritten after every execution of a node.
 *  Fields are only ever added. */
import * as z from 'zod';
import { spentSchema } from '../budget/usage.ts';
import { fidelities } from '../fidelity.ts';
import type { Json, JsonObject } from '../json.ts';
import { once } from '../once.ts';
import {
  alikeSchema,
  attributionSchema,
  failureClasses,
  type Outcome,
  outcomeWords,
  parkedSchema,
  pausedWords,
  reasonOf,
} from '../outcome.ts';
import { bodySchema } from './body.ts';
import type { Fork } from './fork.ts';
import { forkForm, objectForm, outcomeForm } from './json-forms.ts';
import { fileName, nodeId } from './names.ts';
import { openFailureSchema, questionSchema } from './question.ts';

const counts = once(() => z.record(z.string(), z.number()));
const json: () => z.ZodType<Json> = once(() => z.json() as z.ZodType<Json>);

/** As lines and views keep it, whole. */
export const recordedOutcome = once(() =>
  z.custom<Outcome>((v) => typeof v === 'object' && v !== null && 'status' in v).meta(outcomeForm()),
);

const nodeOutcomeSchema = once(() =>
  z.object({
    status: z.enum(outcomeWords),
    label: z.string(),
    notes: z.string(),
    reason: z.string(),
    class: z.enum(failureClasses).nullable(),
  }),
);
export type NodeOutcome = z.infer<ReturnType<typeof nodeOutcomeSchema>>;

/** The stored part of a node's latest outcome. */
export const nodeOutcome = (outcome: Outcome): NodeOutcome => ({
  status: outcome.status,
  label: outcome.label,
  notes: outcome.notes,
  reason: reasonOf(outcome),
  class: outcome.status === 'fail' ? outcome.class : null,
});

export const lastFailureSchema = once(() =>
  z.object({
    node: nodeId(),
    node_type: z.string(),
    class: z.enum(failureClasses),
    class_said: z.boolean().describe('The node reported the class itself'),
    reason: z.string(),
    exit_code: z.number().nullable(),
    model: z.enum(['api', 'output']).nullable().describe("The model's provider or its answer is the cause"),
    executable_success_since: z.boolean(),
    attribution: attributionSchema().exactOptional(),
    command: z.string().exactOptional().describe('The command that failed, shortened'),
    judge: z.boolean().exactOptional().describe('The command runs a scenario'),
  }),
);
export type LastFailure = z.infer<ReturnType<typeof lastFailureSchema>>;

/** What ended a run, where the next command depends on it. */
const endCauseSchema = once(() =>
  z.discriminatedUnion('kind', [
    z.object({
      kind: z.literal('no_route'),
      node: z.string(),
      outcome: z.string(),
      config: z.boolean().describe('A failure of class config, which only an edge that names it takes'),
    }),
    z.object({ kind: z.literal('loop_stopped') }),
    z.object({ kind: z.literal('overridden') }),
  ]),
);
export type EndCause = z.infer<ReturnType<typeof endCauseSchema>>;

export const endedSchema = once(() =>
  z.object({
    exit_node: z.string().nullable().describe('Null when no exit was reached'),
    ok: z.boolean(),
    reason: z.string(),
    code: z.number().describe('Exit code of the process'),
    cause: endCauseSchema().exactOptional(),
    disk: z
      .boolean()
      .exactOptional()
      .describe('The run stopped because of a disk error: a resume continues without changes'),
  }),
);
export type Ended = z.infer<ReturnType<typeof endedSchema>>;

/** How a run comes to a node. */
export const arrivedSchema = once(() =>
  z.object({
    from: z.string(),
    conditional: z.boolean(),
    unset: z
      .array(z.string())
      .exactOptional()
      .describe('Keys without a value by which a condition that asks for no outcome was true'),
    fidelity: z.enum(fidelities).exactOptional().describe('That the edge sets'),
    thread: z.string().exactOptional().describe('The thread_id of the edge'),
  }),
);

/** What an agent kept of a conversation. */
export const keptThreadSchema = once(() =>
  z.object({
    agent: z.string().describe('Only this agent can continue it'),
    session: bodySchema().describe('What the agent kept, masked'),
    sees_holdout: z.literal(true).exactOptional().describe('Its nodes may read the holdout'),
  }),
);

/** The workspace was made ready by the commands of the project. */
const setupStateSchema = once(() =>
  z.object({
    sha256: z.string().describe('Of the commands and of the lock files of that time'),
    before: fileName().exactOptional().describe('The workspace before them, the last time'),
    snapshot: fileName().describe('What they left, the last time'),
    first: z
      .object({ before: fileName(), after: fileName() })
      .describe('Snapshots before and after the first time'),
  }),
);

/** What became of the executable nodes, for human gates; and where branches are. */
const ofWork = once(() => ({
  fork: z
    .custom<Fork>((v) => typeof v === 'object' && v !== null && 'branches' in v)
    .meta(forkForm())
    .exactOptional()
    .describe('Branches that have not met in their join yet'),
  open_failures: z
    .array(openFailureSchema())
    .exactOptional()
    .describe('Failures that lead to a human gate, or that an answer there has let pass'),
  last_executable: nodeId()
    .exactOptional()
    .describe('Node of the latest execution of a tool, an agent or a verification'),
}));

export const checkpointSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    run_id: z.string(),
    epoch: z.number(),
    last_completed_node: z.string().describe('Empty before the first node'),
    completed_nodes: z.array(z.string()).describe('Sorted, without repeats'),
    retry_counts: counts(),
    context: z.record(z.string(), json()),
    origins: z.record(z.string(), z.enum(['engine', 'agent', 'tool'])).describe('Who set a context key last'),
    next_node: nodeId().nullable().describe('Null when an exit was reached'),
    arrived: arrivedSchema().nullable().describe('How the run came to the next node'),
    steps: z.number(),
    visits: counts(),
    restarts: z.int().exactOptional().describe('Restarts by edges with `loop_restart`'),
    round_step: z.int().exactOptional().describe('Executions before the latest restart'),
    visits_before: counts().exactOptional().describe('`visits` at the latest restart'),
    calls: counts().describe('Agent calls made, by node'),
    outcomes: z.record(z.string(), nodeOutcomeSchema()),
    last_outcome: recordedOutcome().nullable(),
    last_failure: lastFailureSchema().nullable(),
    snapshot: fileName().nullable(),
    elapsed_ms: z.number(),
    node_ms: counts().exactOptional().describe('Milliseconds of finished executions, by node'),
    cut_ms: z
      .number()
      .exactOptional()
      .describe('Milliseconds that interrupted executions of the next node took'),
    alike: z.record(z.string(), alikeSchema()).exactOptional().describe('Repeated failures, by node'),
    agent_step: z
      .int()
      .exactOptional()
      .describe('Number of the latest execution of an agent, over the whole run'),
    ...ofWork(),
    setup: setupStateSchema().exactOptional().describe('That the workspace was made ready'),
    tool_state: z
      .custom<JsonObject>((v) => typeof v === 'object' && v !== null)
      .meta(objectForm)
      .exactOptional()
      .describe('What the tools of the run keep, by program'),
    threads: z
      .record(
        z.string(),
        keptThreadSchema().extend({
          node: z.string().describe('Whose execution was the last one'),
          step: z.int().describe('Number of that execution, over the whole run'),
        }),
      )
      .exactOptional()
      .describe('Conversations of agents, by their keys'),
    spent: spentSchema()
      .exactOptional()
      .describe(
        'Totals of all calls of the run, those of interrupted executions included; `journal.jsonl` lists each',
      ),
    status: z.enum(['running', 'completed', 'overridden', 'failed', 'interrupted', ...pausedWords]),
    ended: endedSchema().nullable(),
    parked: parkedSchema().exactOptional(),
    question: questionSchema()
      .exactOptional()
      .describe('Asked by the next node and not answered by a committed execution'),
    at: z.string(),
  }),
);
export type Checkpoint = z.infer<ReturnType<typeof checkpointSchema>>;

/** The part of the state that does not grow with the run: this is in `checkpoint.json`, the rest only in the journal. */
export const boundedCheckpointSchema = once(() =>
  checkpointSchema().omit({
    completed_nodes: true,
    retry_counts: true,
    visits: true,
    visits_before: true,
    calls: true,
    outcomes: true,
    origins: true,
    node_ms: true,
    alike: true,
    agent_step: true,
    last_executable: true,
    open_failures: true,
    setup: true,
    tool_state: true,
    threads: true,
    fork: true,
  }),
);

/** The state of a run in memory. Records by node or by context key (`visits`, `calls`, `retry_counts`, `outcomes`,
 *  `origins`, `threads`) are shared and grow in place: a copy at every step would cost more with every node. */
export type RunState = Readonly<Omit<Checkpoint, 'completed_nodes'>>;

/** The length and hash of a journal at some moment. */
export const markSchema = once(() =>
  z.object({
    records: z.int().nonnegative(),
    sha256: z
      .string()
      .describe('SHA-256, hex, of the last record with the hash before it; empty for no record'),
  }),
);
export type Mark = z.infer<ReturnType<typeof markSchema>>;

/** With its length in bytes, so that a writer can continue without reading it again. */
export const journalMarkSchema = once(() => markSchema().extend({ bytes: z.int().nonnegative() }));
export type JournalMark = z.infer<ReturnType<typeof journalMarkSchema>>;
