/** The lines of `journal.jsonl` that start a run and commit an execution: its outcome, what it changed, and the next node.
 *  Applied in order, they give the state of the run after each. */
import * as z from 'zod';
import { spentSchema, type Usage, usageSchema } from '../budget/usage.ts';
import type { Json, JsonObject } from '../json.ts';
import { once } from '../once.ts';
import { alikeSchema, failureClasses, parkedSchema, pausedWords } from '../outcome.ts';
import {
  arrivedSchema,
  endedSchema,
  keptThreadSchema,
  lastFailureSchema,
  recordedOutcome,
} from './checkpoint.ts';
import { branchEndSchema, branchOf, openedForkSchema } from './fork.ts';
import { objectForm, routeForm } from './json-forms.ts';
import { fileName, innerPath, nodeId } from './names.ts';
import { steeringNoteSchema } from './note.ts';
import { questionSchema, takenAnswerSchema } from './question.ts';
import type { RouteCandidate } from './trace.ts';

const json: () => z.ZodType<Json> = once(() => z.json() as z.ZodType<Json>);
const context = once(() => z.record(z.string(), json()));
const origins = once(() =>
  z.record(z.string(), z.enum(['engine', 'agent', 'tool'])).describe('Who set a context key'),
);
const snapshot = once(() => fileName().describe('Name of a snapshot of the workspace'));
/** Of the lines of `journal.jsonl`, and of copies of them. */
export const journalVersion = 2;

/** Fields of every journal line. */
export const stamp = once(() => ({
  schema_version: z.literal(journalVersion),
  run_id: z.string(),
  seq: z.int(),
  epoch: z.int(),
  prev: z.string().describe('SHA-256 of the lines before: of the last one, after the hash before it'),
}));

/** Which edge was taken, and what became of each. */
export type RecordedRoute = {
  readonly next: string;
  readonly how: string;
  readonly candidates: readonly RouteCandidate[];
};

/** A program that a node ran to its end. */
const ranCommandSchema = once(() =>
  z.object({
    argv: z.array(z.string()).describe('Secrets masked, long words cut'),
    exit_code: z.int().nullable().describe('Null if it did not end by itself'),
    stdout: z.string().describe('Names of the artifacts with its output'),
    stderr: z.string(),
  }),
);
export type RanCommand = z.infer<ReturnType<typeof ranCommandSchema>>;

/** Commands of the project that made the workspace ready for an execution. */
const setupRecordSchema = once(() =>
  z.object({
    before: snapshot().describe('Before them; what they left is what the execution began with'),
    locks: z
      .array(z.string())
      .exactOptional()
      .describe('Lock files that had changed, the first 20; absent where none had run before'),
    commands: z.array(ranCommandSchema()).describe('In order; after a failure none is run'),
    ready_sha256: z
      .string()
      .exactOptional()
      .describe('Of the commands and of all lock files; absent if a command failed: nothing of it stays'),
  }),
);
export type SetupRecord = z.infer<ReturnType<typeof setupRecordSchema>>;

/** The first line: the start of the run. */
export const startRecordSchema = once(() =>
  z.object({
    ...stamp(),
    type: z.literal('Start'),
    at: z.string(),
    next_node: nodeId(),
    context: context(),
    origins: origins(),
    snapshot: snapshot(),
    manifest_sha256: z.string().describe('Of the manifest as JSON with sorted keys'),
  }),
);
export type StartRecord = z.infer<ReturnType<typeof startRecordSchema>>;

/** The start record of a run whose journal was read without an error. */
export function startRecordIn([first]: readonly { readonly type: string }[]): StartRecord {
  if (first?.type !== 'Start') throw new Error('Internal: visits without a start record');
  return first as StartRecord;
}

/** What an agent kept of its conversation. */
const threadSchema = once(() =>
  z.object({ key: z.string().describe('The name of the thread'), ...keptThreadSchema().shape }),
);
export type ThreadRecord = z.infer<ReturnType<typeof threadSchema>>;

/** A finished execution, with any outcome. */
export const visitRecordSchema = once(() =>
  z.object({
    ...stamp(),
    type: z.literal('Visit'),
    at: z.string(),
    node: nodeId(),
    node_type: z.string(),
    visit: z.int().positive(),
    branch: branchOf().exactOptional(),
    setup: setupRecordSchema().exactOptional().describe('What made the workspace ready for it'),
    before: snapshot().describe('Before its first attempt'),
    after: snapshot().describe('After it, including restored paths'),
    outcome: recordedOutcome(),
    retries: z.int().min(0).describe('Of this node, over all its executions so far'),
    calls: z.int().min(0).describe('Agent calls of this node, over all its visits so far'),
    context: z
      .object({ set: context(), unset: z.array(z.string()) })
      .describe('The changes of the execution'),
    origins: z.object({ set: origins() }),
    tool_state: z
      .custom<JsonObject>((v) => typeof v === 'object' && v !== null && !Array.isArray(v))
      .meta(objectForm)
      .exactOptional()
      .describe('What the tools of the run keep (`$FACTORY_STATE`), whole; absent if unchanged'),
    thread: threadSchema().exactOptional().describe('The conversation that its agent kept'),
    last_failure: lastFailureSchema().nullable().optional().describe('Absent if unchanged'),
    alike: alikeSchema()
      .nullable()
      .exactOptional()
      .describe('Repeated failures of this node; null when they end, absent if unchanged'),
    next_node: nodeId().nullable(),
    arrived: arrivedSchema().nullable(),
    restart: z
      .int()
      .positive()
      .exactOptional()
      .describe('Its edge has `loop_restart`: the number of the restart by which the next round begins'),
    fork: openedForkSchema().exactOptional().describe('The branches that begin after it'),
    branch_ended: branchEndSchema().exactOptional().describe('Its branch ended with it'),
    joined: nodeId().exactOptional().describe('The node whose branches met in it'),
    steps: z.int(),
    elapsed_ms: z.number(),
    commands: z
      .array(ranCommandSchema())
      .exactOptional()
      .describe('Programs of its last attempt, in order, the first 100; absent if it ran none'),
    artifacts: z
      .record(innerPath(), fileName())
      .exactOptional()
      .describe('SHA-256 of the files in its folder, by path in the folder'),
    artifacts_more: z.int().exactOptional().describe('Number of further files in the folder'),
    asked_sha256: z
      .string()
      .exactOptional()
      .describe('SHA-256 of the attributes of a tool or verification and of the variables that they name'),
    replayed: z
      .int()
      .exactOptional()
      .describe('Number of the record of the replayed run that was used instead of executing the node'),
    answer: takenAnswerSchema()
      .exactOptional()
      .describe('To the question of a human gate; with neither choice nor text: none came in time'),
    steered: z
      .array(steeringNoteSchema())
      .exactOptional()
      .describe('Notes of people in the prompts of its agent, in their order'),
    usage: z
      .custom<Usage>((v) => typeof v === 'object' && v !== null)
      .meta(objectForm)
      .exactOptional()
      .describe('Of all its agent calls; absent if none reported usage'),
    took_ms: z
      .number()
      .exactOptional()
      .describe('Milliseconds of this execution and of those of it that were interrupted'),
    route: z
      .custom<RecordedRoute>((v) => typeof v === 'object' && v !== null && 'candidates' in v)
      .meta(routeForm())
      .exactOptional()
      .describe('How the next node was chosen; absent at an exit'),
    spent: spentSchema().exactOptional().describe('By the run so far; absent in a copied record'),
    ended: endedSchema().exactOptional().describe('The run ended with this execution'),
  }),
);
export type VisitRecord = z.infer<ReturnType<typeof visitRecordSchema>>;

/** A branch stopped, or has ended, without a finished execution: by a limit of its node, cancelled, or suspended. Flushed. */
export const branchStoppedSchema = once(() =>
  z.object({
    ...stamp(),
    type: z.literal('BranchStopped'),
    at: z.string(),
    branch: branchOf(),
    status: z.enum(['failed', 'cancelled', ...pausedWords]),
    reason: z.string(),
    class: z.enum(failureClasses).exactOptional().describe('Of a failure'),
    parked: parkedSchema().exactOptional(),
    question: questionSchema()
      .exactOptional()
      .describe('That it asks a person; absent where it was asked before'),
    cut_ms: z.number().exactOptional().describe('Of interrupted executions of its next node'),
  }),
);
export type BranchStopped = z.infer<ReturnType<typeof branchStoppedSchema>>;

/** What the state of a run at one of its executions is made of. */
export const runRecordSchema = once(() =>
  z.discriminatedUnion('type', [startRecordSchema(), visitRecordSchema(), branchStoppedSchema()]),
);
export type RunRecord = z.infer<ReturnType<typeof runRecordSchema>>;

/** Lines of the journal: start, usage and end of every model call that has a cost. A call without an end was interrupted by a
 *  crash. */
const about = once(() => ({
  at: z.string(),
  node: z.string(),
  visit: z.int(),
  attempt: z.int(),
  branch: branchOf().exactOptional(),
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
