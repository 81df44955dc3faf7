/** Runs for people: the same shapes for the command line, the HTTP API and the page. Fields are only ever added. */
import * as z from 'zod';
import { spentSchema, usageSchema } from '../../core/budget/usage.ts';
import type { Json } from '../../core/json.ts';
import { once } from '../../core/once.ts';
import { failureClasses, outcomeWords, pausedWords } from '../../core/outcome.ts';
import { weaknessAcceptedSchema } from '../../core/records/acceptance.ts';
import { aheadCountsSchema, planLevelsSchema } from '../../core/records/ahead.ts';
import { branchEndWords } from '../../core/records/fork.ts';
import { manifestSchema } from '../../core/records/manifest.ts';
import { steeringNoteSchema } from '../../core/records/note.ts';
import { answerSources, questionSchema } from '../../core/records/question.ts';
import { runResultSchema } from '../../core/records/result.ts';
import { changedFilesSchema } from './changed-files.ts';
import { cardActionSchema, failureCardSchema } from './failure-card.ts';
import { nodeSettingsSchema } from './node-settings.ts';
import { waitReasons, waitSchema } from './wait.ts';

const time = once(() => z.string().describe('RFC 3339, UTC'));
const ms = once(() => z.number().describe('Milliseconds'));

const waiting = once(() =>
  waitSchema().nullable().describe('What it waits for, also while it is suspended; null if it does not'),
);

/** Who answered a question, and what. */
export const givenAnswerSchema = once(() =>
  z.object({
    words: z.string().describe('The label of the option, or the text'),
    choice: z.string().nullable().describe('The node to which the chosen option leads'),
    text: z.string().nullable(),
    by: z.string(),
    at: time(),
    from: z.enum(answerSources),
  }),
);
export type GivenAnswer = z.infer<ReturnType<typeof givenAnswerSchema>>;

/** What a run asks a person. */
export const openQuestionSchema = once(() =>
  questionSchema()
    .pick({ id: true, mode: true, text: true, after: true, text_to: true, timeout_action: true })
    .extend({
      options: z.array(
        questionSchema().shape.options.element.extend({
          command: z.string().describe('The command that chooses it'),
        }),
      ),
      text_command: z
        .string()
        .nullable()
        .describe('The command that answers with a text; null: none is taken'),
      default: z.string().nullable().describe('Label of the default choice'),
      asked_at: time(),
      deadline: time().nullable().describe('RFC 3339, UTC; null: it waits without limit'),
      answer: givenAnswerSchema().nullable().describe('Given already; the run takes it when it is resumed'),
    }),
);
export type OpenQuestion = z.infer<ReturnType<typeof openQuestionSchema>>;

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

/** A note of a person to the agents of a run. */
export const noteRowSchema = once(() =>
  steeringNoteSchema().extend({
    branch: z.string().nullable().describe('Only for agents of this branch; null: for any'),
    used_by: z.string().nullable().describe('`NODE@VISIT` whose prompt has it; null while it waits'),
  }),
);
export type NoteRow = z.infer<ReturnType<typeof noteRowSchema>>;

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
const branchRowSchema = once(() =>
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

/** Nodes and edges of a pipeline with what the run did in them. */
const graphPartSchema = once(() =>
  z.object({
    nodes: z.array(
      z.object({
        id: z.string(),
        type: z.string().describe('Its node type; of an unknown one, the type or shape as written'),
        label: z.string().describe('Its id where it has none'),
        ends: z.enum(['success', 'fail']).nullable().describe('How an exit ends the run; null for the rest'),
        state: z
          .enum(['none', 'running', 'suspended', 'interrupted', ...outcomeWords])
          .describe('Of its latest execution; `fail` for an exit that has failed the run'),
        executions: z.int(),
        took_ms: ms(),
        cost_usd: z.number().nullable(),
        calls: z.int(),
      }),
    ),
    edges: z.array(
      z.object({
        from: z.string(),
        to: z.string(),
        label: z.string(),
        condition: z.string(),
        taken: z.int().describe('How often the run took it'),
      }),
    ),
    regions: z
      .array(
        z.object({
          node: z.string().describe('The node that opens the branches'),
          join: z.string().describe('The node at which they meet'),
          within: z.string().nullable().describe('The innermost branch that contains the node'),
          list: z.boolean().describe('Whether each item of a list has a branch (`for_each`)'),
          branches: z.array(z.object({ id: z.string(), nodes: z.array(z.string()) })),
        }),
      )
      .describe('The nodes with branches'),
  }),
);
export type GraphPart = z.infer<ReturnType<typeof graphPartSchema>>;

/** The pipeline with what the run did in it. */
export const graphViewSchema = once(() =>
  graphPartSchema().extend({
    name: z.string().describe("The pipeline's label, else its name"),
    direction: z.enum(['TB', 'LR', 'BT', 'RL']).describe('`rankdir`: from the top to the bottom …'),
    children: z
      .array(
        graphPartSchema().extend({
          call: z
            .string()
            .describe('The node that calls it; the ids of its nodes begin with that id and a dot'),
        }),
      )
      .describe('The pipelines that its nodes call, and those that these call'),
    folds: z
      .array(
        z.object({
          id: z.string().describe('The node that calls, or that chooses the next work order'),
          kind: z.enum(['orders', 'call']),
          label: z.string(),
          within: z.string().nullable().describe('The node that calls the pipeline with it'),
          nodes: z.array(z.string()).describe('Of a call those of the called pipeline'),
        }),
      )
      .describe('What a map shows as one card: the loop over the work orders, and each call'),
  }),
);
export type GraphView = z.infer<ReturnType<typeof graphViewSchema>>;

/** Why a run stands as it does. */
export const causeSchema = once(() =>
  z.object({
    headline: z.string(),
    lines: z.array(z.string()).describe('At most five, the most important first'),
    evidence: z.array(z.string()).describe('Paths of files that show it'),
    node: z.string().nullable().describe('`NODE@VISIT` that shows it'),
    next: z.string().describe('The command to run next; empty if there is none'),
  }),
);
export type Cause = z.infer<ReturnType<typeof causeSchema>>;

/** A node of a run, with what its executions took together. */
const nodeRowSchema = once(() =>
  z.object({
    node: z.string(),
    type: z.string(),
    visits: z.int().describe('Executions, the unfinished one included'),
    outcome: executionRowSchema().shape.state.describe('Of the latest execution'),
    waiting: waiting(),
    failure_class: z.enum(failureClasses).nullable(),
    failure_reason: z.string(),
    retries: z.int().describe('Over all executions'),
    took_ms: ms(),
    spent: spentSchema(),
    sandbox: z.string().nullable().describe('What confined the programs of its latest execution'),
  }),
);
export type NodeRow = z.infer<ReturnType<typeof nodeRowSchema>>;

/** A run, whole. */
export const runViewSchema = once(() =>
  runRowSchema().extend({
    schema_version: z.literal(1),
    agent: z.string(),
    sandbox: manifestSchema().shape.sandbox.unwrap().nullable().describe('Null: the nodes have none'),
    not_enforced: z.array(z.string()),
    spec: z.string().nullable().describe('Path of the spec, if a variable of that name is a file'),
    groups: z.array(executionGroupSchema()),
    levels: planLevelsSchema().describe(
      'Work orders by when they can be asked for, those of one level together; empty if no two can',
    ),
    ahead: aheadCountsSchema()
      .nullable()
      .describe('Work orders asked for before their turn; null if none was'),
    executions: z.array(executionRowSchema()).describe('In order'),
    branches: z.array(branchRowSchema()).describe('In the order in which they were opened'),
    notes: z.array(noteRowSchema()).describe('Of people to its agents, in their order'),
    accepted_weakness: weaknessAcceptedSchema()
      .nullable()
      .describe('That a person has delivered it although its scenarios are too weak; null if none has'),
    graph: graphViewSchema(),
    cause: causeSchema().nullable().describe('Null for a run that runs or completed'),
    changed: changedFilesSchema().nullable().describe('Null where its snapshots cannot be read'),
    card: failureCardSchema().nullable().describe('Null for a run that needs no attention'),
    result: runResultSchema().nullable().describe('Null until it has ended'),
    last_event: z.int().describe('`seq` of the last event that this view contains'),
    holdout: manifestSchema()
      .shape.holdout.unwrap()
      .pick({ paths: true, files: true, from: true, sha256: true })
      .nullable(),
    prices: z.object({ dated: z.string(), from: z.string() }).describe('Date and file of the price list'),
    nodes: z.array(nodeRowSchema()).describe('Each node, in the order in which the run came to them first'),
    failure: z
      .object({ node: z.string(), output: z.string() })
      .nullable()
      .describe('The node of the latest failure, and what later nodes were given of its output'),
  }),
);
export type RunView = z.infer<ReturnType<typeof runViewSchema>>;

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
