/** `events.jsonl`: the story of a run, one record a line. The journal adds `seq`, `run_id` and `epoch`. */
import * as z from 'zod';
import { Attribution, Rerun } from './attribution.ts';
import { failureClasses } from './outcome.ts';
import { pausedWords } from './park.ts';
import { Usage } from './spent.ts';

const base = { schema_version: z.literal(1), at: z.string().describe('RFC 3339, UTC') };
const node_id = z.string();
const usage = Usage.optional().describe('Of all calls of the visit');
const replayed = z.boolean().exactOptional().describe('True where the record of another run answered');

const ForkPoint = z
  .object({ run_id: z.string(), node: z.string(), visit: z.number(), before: z.boolean() })
  .describe('The moment of another run that this one began at');

export const RunEvent = z.discriminatedUnion('type', [
  z
    .object({
      ...base,
      type: z.literal('PipelineStarted'),
      agent: z.string(),
      resumed: z.boolean(),
      forked_from: ForkPoint.exactOptional(),
    })
    .describe('The run begins, or goes on after a resume; names the agent that answers.'),
  z
    .object({ ...base, type: z.literal('StageStarted'), node_id, visit: z.number(), node_type: z.string() })
    .describe('A visit of a node begins; once per visit, however many attempts it takes.'),
  z
    .object({
      ...base,
      type: z.literal('StageRetrying'),
      node_id,
      retry_count: z.number(),
      reason: z.string(),
      delay_ms: z.number(),
    })
    .describe('An attempt asked for another; `retry_count` accumulates over the run.'),
  z
    .object({
      ...base,
      type: z.literal('AgentActed'),
      node_id,
      action: z.enum(['command', 'file_change', 'tool_call', 'web_search']),
      detail: z.string().describe('The command, the paths, the tool, the query; shortened'),
      status: z.string().describe("The agent program's own word: completed, failed"),
    })
    .describe('What an agent program reports to have done; the first 1,000 of an attempt.'),
  z
    .object({ ...base, type: z.literal('ReplayRan'), node_id, visit: z.number(), why: z.string() })
    .describe('A tool or a check of a replay runs, because what is recorded of it does not fit.'),
  z
    .object({ ...base, type: z.literal('ScenarioRerun'), node_id, ...Rerun.shape })
    .describe('A scenario that failed was run once more in a clean copy, to tell a flake from a failure.'),
  z
    .object({ ...base, type: z.literal('GuardrailViolation'), node_id, paths: z.array(z.string()) })
    .describe('A stage wrote outside its scope; the paths were put back.'),
  z
    .object({
      ...base,
      type: z.literal('StageCompleted'),
      node_id,
      visit: z.number(),
      outcome: z.string(),
      notes: z.string(),
      elapsed_ms: z.number(),
      usage,
      replayed,
    })
    .describe('A visit ended with any outcome but fail.'),
  z
    .object({
      ...base,
      type: z.literal('StageFailed'),
      node_id,
      visit: z.number(),
      failure_reason: z.string(),
      failure_class: z.enum(failureClasses),
      attribution: Attribution.exactOptional(),
      error: z.string().optional().describe('The reason again, when the stage broke instead of reporting'),
      elapsed_ms: z.number(),
      usage,
      replayed,
    })
    .describe('A visit ended with outcome fail.'),
  z
    .object({ ...base, type: z.literal('CheckpointSaved'), last_completed_node: z.string() })
    .describe('The checkpoint that names the next node is on disk.'),
  z.object({ ...base, type: z.literal('PipelineCompleted') }).describe('A success exit was reached.'),
  z
    .object({ ...base, type: z.literal('PipelineFailed'), error: z.string() })
    .describe('The run ended without reaching a success exit.'),
  z
    .object({ ...base, type: z.literal('PipelineInterrupted'), signal: z.string(), next_node: z.string() })
    .describe('A signal stopped the run; a resume goes on at the next node.'),
  z
    .object({
      ...base,
      type: z.literal('PipelineParked'),
      status: z.enum(pausedWords),
      node_id,
      reason: z.string(),
      wake_at: z.string().nullable(),
    })
    .describe('The run waits for a quota, a key or a paid bill; a resume makes the visit again.'),
]);
export type RunEvent = z.infer<typeof RunEvent>;

/** An event before it has its time and version. */
export type EventFacts = RunEvent extends infer E
  ? E extends RunEvent
    ? Omit<E, 'at' | 'schema_version'>
    : never
  : never;
