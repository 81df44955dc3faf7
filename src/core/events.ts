/** `events.jsonl`: the events of a run, one record per line. The view adds `run_id`, `seq`, `epoch` and `line`. */
import * as z from 'zod';
import { usageSchema } from './budget/usage.ts';
import { once } from './once.ts';
import {
  attributionSchema,
  failureClasses,
  outcomeWords,
  pausedWords,
  rerunSchema,
  waitCauses,
} from './outcome.ts';
import { branchEndWords } from './records/fork.ts';
import { answerSources } from './records/question.ts';

const base = once(() => ({ schema_version: z.literal(1), at: z.string().describe('RFC 3339, UTC') }));
const node_id = once(() => z.string());
const branch = once(() => z.string().describe('The id of a branch: that of its first node'));
const suspended = once(() => ({
  status: z.enum(pausedWords),
  node_id: node_id(),
  reason: z.string(),
  wake_at: z.string().nullable(),
}));

/** Of an event about a node. */
const ofNode = once(() => ({
  node_id: node_id(),
  branch: branch().exactOptional().describe('The innermost branch that the node ran in'),
}));
const usage = once(() => usageSchema().optional().describe('Of all calls of the execution'));
const replayed = once(() =>
  z.boolean().exactOptional().describe('True if the record of another run was used instead'),
);

const cause = once(() =>
  z.enum(waitCauses).exactOptional().describe('What is waited for, where it is the provider'),
);

const of = once(() =>
  z
    .int()
    .exactOptional()
    .describe('The last attempt that there may be; missing where only time limits the attempts'),
);

const unset_keys = once(() =>
  z
    .array(z.string())
    .exactOptional()
    .describe('Keys that conditions of its edges read and that nothing has set: each counts as empty'),
);

const work_order = once(() =>
  z
    .object({
      id: z.string(),
      title: z.string(),
      index: z.number().describe('1-based'),
      count: z.number().describe('Of all orders'),
      attempt: z.number().describe('0 before the first; of one that is done, their number'),
      done: z.boolean(),
      commit: z.string().nullable().describe('Null until it is done, and where it changed nothing'),
    })
    .exactOptional()
    .describe('Of a step of a build: its current work order, as the step has left it'),
);

const forkPointSchema = once(() =>
  z
    .object({ run_id: z.string(), node: z.string(), visit: z.number(), before: z.boolean() })
    .describe('The checkpoint of another run that this one was forked from'),
);

export const runEventSchema = once(() =>
  z.discriminatedUnion('type', [
    z
      .object({
        ...base(),
        type: z.literal('PipelineStarted'),
        agent: z.string(),
        resumed: z.boolean(),
        forked_from: forkPointSchema().exactOptional(),
      })
      .describe('The run starts or is resumed; names the agent.'),
    z
      .object({
        ...base(),
        type: z.literal('StageStarted'),
        ...ofNode(),
        visit: z.number(),
        node_type: z.string(),
      })
      .describe('An execution of a node begins; once per execution, however many attempts it takes.'),
    z
      .object({
        ...base(),
        type: z.literal('StageRetrying'),
        ...ofNode(),
        retry_count: z.number(),
        attempt: z.int().exactOptional().describe('Of this execution, the one that follows'),
        of: of(),
        cause: cause(),
        reason: z.string(),
        delay_ms: z.number(),
      })
      .describe('An attempt asked for a retry; `retry_count` accumulates over the run.'),
    z
      .object({
        ...base(),
        type: z.literal('CallRetrying'),
        ...ofNode(),
        attempt: z
          .int()
          .describe('Number of the try that follows; 1 where none was made, since the account is on hold'),
        of: of(),
        cause: cause(),
        reason: z.string(),
        delay_ms: z.number(),
      })
      .describe('A model call waits before it repeats its request.'),
    z
      .object({
        ...base(),
        type: z.literal('StageWaiting'),
        ...ofNode(),
        until: z.string().describe('RFC 3339, UTC'),
        reason: z.string(),
      })
      .describe('A node begins to wait for a time within the run.'),
    z
      .object({
        ...base(),
        type: z.literal('AgentActed'),
        ...ofNode(),
        action: z.enum(['command', 'file_change', 'tool_call', 'web_search']),
        detail: z.string().describe('The command, the paths, the tool, the query; shortened'),
        status: z
          .string()
          .describe(
            "The agent program's own word: completed, failed, denied (its permissions did not allow it)",
          ),
      })
      .describe('An action that an agent program reported; the first 1,000 of an attempt.'),
    z
      .object({
        ...base(),
        type: z.literal('ReplayRan'),
        ...ofNode(),
        visit: z.number(),
        why: z.string(),
      })
      .describe('A tool or a verification of a replay runs because its recorded result does not fit.'),
    z
      .object({
        ...base(),
        type: z.literal('SetupRan'),
        ...ofNode(),
        visit: z.number(),
        commands: z.array(z.string()),
        locks: z
          .array(z.string())
          .exactOptional()
          .describe('Lock files that had changed; absent where none had run before'),
        ok: z.boolean(),
        took_ms: z.number(),
      })
      .describe('The setup commands of the project have run, before a node.'),
    z
      .object({ ...base(), type: z.literal('ScenarioRerun'), ...ofNode(), ...rerunSchema().shape })
      .describe(
        'A scenario that failed was run once more in a clean copy, to distinguish a flaky scenario from a failure.',
      ),
    z
      .object({
        ...base(),
        type: z.literal('GuardrailViolation'),
        ...ofNode(),
        paths: z.array(z.string()),
      })
      .describe('A node wrote outside its allowed paths; the paths were restored.'),
    z
      .object({
        ...base(),
        type: z.literal('StageCompleted'),
        ...ofNode(),
        visit: z.number(),
        outcome: z.string(),
        notes: z.string(),
        elapsed_ms: z.number(),
        usage: usage(),
        replayed: replayed(),
        unset_keys: unset_keys(),
        work_order: work_order(),
      })
      .describe('An execution ended with any outcome except fail.'),
    z
      .object({
        ...base(),
        type: z.literal('StageFailed'),
        ...ofNode(),
        visit: z.number(),
        failure_reason: z.string(),
        failure_class: z.enum(failureClasses),
        attribution: attributionSchema().exactOptional(),
        error: z
          .string()
          .optional()
          .describe('The reason again, if the node broke instead of reporting failure'),
        elapsed_ms: z.number(),
        usage: usage(),
        replayed: replayed(),
        unset_keys: unset_keys(),
      })
      .describe('An execution ended with outcome fail.'),
    z
      .object({
        ...base(),
        type: z.literal('InterviewStarted'),
        ...ofNode(),
        question: z.string().describe('NODE@VISIT'),
        text: z.string(),
        options: z.array(z.string()).describe('Their labels'),
        deadline: z.string().nullable(),
      })
      .describe('A human gate asks a person; the run is suspended until the answer is there.'),
    z
      .object({
        ...base(),
        type: z.literal('InterviewCompleted'),
        ...ofNode(),
        question: z.string(),
        answer: z.string().describe('The label of the option, or the text'),
        by: z.string(),
        from: z.enum(answerSources),
      })
      .describe('The question was answered.'),
    z
      .object({
        ...base(),
        type: z.literal('StageSteered'),
        ...ofNode(),
        visit: z.number(),
        note: z.number(),
        text: z.string(),
        by: z.string(),
        from: z.enum(answerSources),
      })
      .describe('The prompts of this execution had a note of a person.'),
    z
      .object({
        ...base(),
        type: z.literal('InterviewTimeout'),
        ...ofNode(),
        question: z.string(),
        answer: z.string().describe('The label of the default choice; empty without one'),
      })
      .describe('The question was not answered in time.'),
    z
      .object({
        ...base(),
        type: z.literal('CheckpointSaved'),
        last_completed_node: z.string(),
        branch: branch().exactOptional(),
      })
      .describe('The checkpoint that names the next node is on disk.'),
    z
      .object({
        ...base(),
        type: z.literal('LoopRestarted'),
        ...ofNode(),
        next_node: z.string(),
        restart: z.int().describe('1 for the first of the run'),
      })
      .describe(
        'The run took an edge with `loop_restart`: a new round begins at its target, unless max_restarts is reached.',
      ),
    z
      .object({
        ...base(),
        type: z.literal('ParallelStarted'),
        ...ofNode(),
        visit: z.number(),
        join: z.string().describe('The node at which its branches meet'),
        branches: z.array(z.string()).describe('Their ids, in the order of the edges'),
        call: z.literal(true).exactOptional().describe('The node calls another pipeline: its only branch'),
      })
      .describe('A node with branches has ended: they can begin.'),
    z
      .object({ ...base(), type: z.literal('BranchStarted'), branch: branch() })
      .describe('The first node of a branch begins; repeated where it was interrupted.'),
    z
      .object({
        ...base(),
        type: z.literal('BranchCompleted'),
        branch: branch(),
        status: z.enum(branchEndWords),
        reason: z.string(),
        failure_class: z.enum(failureClasses).exactOptional(),
      })
      .describe('A branch has ended.'),
    z
      .object({ ...base(), type: z.literal('BranchParked'), branch: branch(), ...suspended() })
      .describe('A branch is suspended; the others continue.'),
    z
      .object({
        ...base(),
        type: z.literal('ParallelCompleted'),
        ...ofNode(),
        join: z.string(),
        status: z.enum(outcomeWords).describe('The outcome of the join'),
        call: z.literal(true).exactOptional().describe('A call has ended, at the exit `join`'),
      })
      .describe('The join has ended: what counts of the branches is in the run.'),
    z.object({ ...base(), type: z.literal('PipelineCompleted') }).describe('A success exit was reached.'),
    z
      .object({ ...base(), type: z.literal('PipelineFailed'), error: z.string() })
      .describe('The run ended without reaching a success exit.'),
    z
      .object({ ...base(), type: z.literal('PipelineOverridden'), reason: z.string() })
      .describe(
        'A success exit was reached in spite of a failure that an answer at a human gate has let pass.',
      ),
    z
      .object({
        ...base(),
        type: z.literal('PipelineInterrupted'),
        signal: z.string().describe('Or who asked for the stop'),
        next_node: z.string(),
      })
      .describe('A signal or a request stopped the run; a resume continues at the next node.'),
    z
      .object({ ...base(), type: z.literal('PipelineParked'), ...suspended() })
      .describe(
        'The run is suspended until a quota, a key or billing is in order; a resume executes the node again.',
      ),
  ]),
);
export type RunEvent = z.infer<ReturnType<typeof runEventSchema>>;

/** An event without time and version, which the writer adds. */
export type EventFacts = RunEvent extends infer E
  ? E extends RunEvent
    ? Omit<E, 'at' | 'schema_version'>
    : never
  : never;
