/** `checkpoint.json`: all that a resume needs, written after every stage. Fields are only ever added. */
import * as z from 'zod';
import { Alike, Attribution } from './attribution.ts';
import type { Json } from './json.ts';
import { Mark } from './mark.ts';
import type { Outcome } from './outcome.ts';
import { failureClasses, outcomeWords, reasonOf } from './outcome.ts';
import { Parked, pausedWords } from './park.ts';
import { fileName, nodeId } from './safe-names.ts';
import { Spent } from './spent.ts';

const counts = z.record(z.string(), z.number());
const json: z.ZodType<Json> = z.json() as z.ZodType<Json>;

export const NodeOutcome = z.object({
  status: z.enum(outcomeWords),
  label: z.string(),
  notes: z.string(),
  reason: z.string(),
  class: z.enum(failureClasses).nullable(),
});
export type NodeOutcome = z.infer<typeof NodeOutcome>;

/** What is remembered of a node's latest outcome. */
export const nodeOutcome = (outcome: Outcome): NodeOutcome => ({
  status: outcome.status,
  label: outcome.label,
  notes: outcome.notes,
  reason: reasonOf(outcome),
  class: outcome.status === 'fail' ? outcome.class : null,
});

export const LastFailure = z.object({
  node: nodeId,
  node_type: z.string(),
  class: z.enum(failureClasses),
  class_said: z.boolean().describe("The class is the stage's own word"),
  reason: z.string(),
  exit_code: z.number().nullable(),
  model: z.enum(['api', 'output']).nullable().describe('A single-turn model call is the cause'),
  executable_success_since: z.boolean(),
  attribution: Attribution.exactOptional(),
  command: z.string().exactOptional().describe('The command that failed, shortened'),
  judge: z.boolean().exactOptional().describe('The command runs a scenario'),
});
export type LastFailure = z.infer<typeof LastFailure>;

export const Ended = z.object({
  exit_node: z.string().nullable().describe('Null when no exit was reached'),
  ok: z.boolean(),
  reason: z.string(),
  code: z.number().describe('Exit code of the process'),
  disk: z.boolean().exactOptional().describe('The disk has stopped the run: a resume goes on at once'),
});
export type Ended = z.infer<typeof Ended>;

export const Checkpoint = z.object({
  schema_version: z.literal(1),
  run_id: z.string(),
  epoch: z.number(),
  last_completed_node: z.string().describe('Empty before the first stage'),
  completed_nodes: z.array(z.string()).describe('Sorted, without repeats'),
  retry_counts: counts,
  context: z.record(z.string(), json),
  origins: z.record(z.string(), z.enum(['engine', 'agent', 'tool'])).describe('Who set a context key last'),
  next_node: nodeId.nullable().describe('Null when an exit was reached'),
  arrived: z
    .object({ from: z.string(), conditional: z.boolean() })
    .nullable()
    .describe('How the run came to the next node'),
  steps: z.number(),
  visits: counts,
  calls: counts.describe('Agent calls made, by node'),
  outcomes: z.record(z.string(), NodeOutcome),
  last_outcome: z.custom<Outcome>((v) => typeof v === 'object' && v !== null && 'status' in v).nullable(),
  last_failure: LastFailure.nullable(),
  snapshot: fileName.nullable(),
  elapsed_ms: z.number(),
  node_ms: counts.exactOptional().describe('Milliseconds of finished visits, by node'),
  cut_ms: z
    .number()
    .exactOptional()
    .describe('Milliseconds that the next node took in visits that were cut, where it has a max_wall'),
  alike: z.record(z.string(), Alike).exactOptional().describe('Failures that repeat, by node'),
  agent_step: z.int().exactOptional().describe('Number of the latest visit of an agent, over the whole run'),
  spent: Spent.exactOptional().describe(
    'By all calls of the run, those of cut visits too; `calls.jsonl` has each',
  ),
  status: z.enum(['running', 'completed', 'failed', 'interrupted', ...pausedWords]),
  ended: Ended.nullable(),
  parked: Parked.exactOptional(),
  at: z.string(),
});
export type Checkpoint = z.infer<typeof Checkpoint>;

/** What a checkpoint vouches for beside the lines of `visits.jsonl`. */
export const Cover = z.object({
  manifest_sha256: z.string().describe('Of the manifest as JSON with sorted keys'),
  manifest_next: z.string().exactOptional().describe('Of the one that is about to take its place'),
  snapshot_next: z.string().exactOptional().describe('The snapshot that counts once that one is there'),
  journals: z.record(z.string(), Mark).describe('By path in the run directory'),
});
export type Cover = z.infer<typeof Cover>;

/** What stands in `checkpoint.json` however long the run; `visits.jsonl` tells the rest. */
export const BoundedCheckpoint = Checkpoint.omit({
  completed_nodes: true,
  retry_counts: true,
  visits: true,
  calls: true,
  outcomes: true,
  origins: true,
  node_ms: true,
  alike: true,
  agent_step: true,
});

/** The state of a run in memory. What is kept by node or by context key (`visits`, `calls`, `retry_counts`, `outcomes`,
 *  `origins`) belongs to the run and grows in place: copied at every step it would cost more with every node. */
export type RunState = Readonly<Omit<Checkpoint, 'completed_nodes'>>;
