/** What each line of the journal gives to the views `events.jsonl` and `trace.jsonl`. Pure. */
import type { EventFacts, RunEvent } from '../core/events.ts';
import { branchBegins, viewOf } from '../core/fork.ts';
import { type Json, type JsonObject, own, put } from '../core/json.ts';
import { type Context, type Outcome, reasonOf } from '../core/outcome.ts';
import { isOverridden } from '../core/overridden.ts';
import { answeredText } from '../core/question-words.ts';
import { buildStateIn } from '../core/records/build.ts';
import type { Ended, RunState } from '../core/records/checkpoint.ts';
import type { JournalLine, LineFacts, StoppedRecord, VisitFacts } from '../core/records/journal.ts';
import { layout, nodeLayout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { questionIdOf } from '../core/records/question.ts';
import { interruptedBy } from '../core/records/stop-request.ts';
import type { ContextDelta, TraceFacts, TraceRecord } from '../core/records/trace.ts';
import { askedOf, branchField, branchStopOf, parallelOf } from './branch-records.ts';
import { addRecord, stateAfter } from './visits.ts';

/** Records of both views. */
export type ViewRecords = { readonly events: readonly RunEvent[]; readonly trace: readonly TraceRecord[] };

/** What the trace has of a node that the journal does not know. */
export type NodeInput = Pick<
  Extract<TraceFacts, { type: 'NodeInputCaptured' }>,
  'node_type' | 'node_shape' | 'node_attrs' | 'workspace' | 'sandbox'
>;

/** What the records need besides the journal. */
export type ViewPlaces = {
  /** As the run calls its directory. */
  readonly runDir: string;
  readonly input: (node: string) => NodeInput;
};

/** As the execution sees it. `begins`: nothing was executed in its branch yet. */
type StateBefore = Pick<RunState, 'context' | 'elapsed_ms' | 'steps' | 'next_node'> & {
  readonly begins?: boolean;
};
type Facts = { readonly events: readonly EventFacts[]; readonly trace: readonly TraceFacts[] };
const nothing: Facts = { events: [], trace: [] };

/** The records of one line, with its time. `before`: the state before it. */
export function viewRecordsOf(line: LineFacts, before: StateBefore, places: ViewPlaces): ViewRecords {
  const { events, trace } = factsOf(line, before, places);
  const stamp = { schema_version: 1, at: line.at } as const;
  const stamped = <T extends { readonly type: string }>({ type, ...rest }: T) => ({
    schema_version: stamp.schema_version,
    type,
    at: stamp.at,
    ...rest,
  });
  return {
    events: events.map((one) => stamped(one) as RunEvent),
    trace: trace.map((one) => stamped(one) as TraceRecord),
  };
}

function factsOf(line: LineFacts, before: StateBefore, { runDir, input }: ViewPlaces): Facts {
  switch (line.type) {
    case 'Began':
      return startOf(line, before, layout(runDir).node(line.node), input(line.node));
    case 'Visit':
      return executionOf(line, before, layout(runDir).node(line.node));
    case 'BranchStopped':
      return { events: branchStopOf(line), trace: [] };
    case 'Stopped':
      return stopOf(line, before.next_node ?? '');
    default:
      return nothing;
  }
}

/** The records of all lines from the one with the number `from` on, each with its line. Executions that a fork has copied give
 *  none. */
export function* viewRecordsFrom(
  from: number,
  lines: readonly JournalLine[],
  { forked_from }: Pick<Manifest, 'forked_from'>,
  places: ViewPlaces,
): Generator<{ readonly line: JournalLine; readonly records: ViewRecords }> {
  const copied = forked_from?.seq ?? 0;
  let count = 0;
  let state: RunState | undefined;
  for (const line of lines) {
    const isRecord = line.type === 'Start' || line.type === 'Visit' || line.type === 'BranchStopped';
    if (isRecord) count += 1;
    if (line.type === 'Start') state = stateAfter([line]);
    if (state === undefined) continue;
    const isCopied = isRecord && line.type !== 'Start' && count <= copied;
    if (line.seq >= from && !isCopied)
      yield { line, records: viewRecordsOf(line, stateBeforeLine(state, line), places) };
    if (line.type === 'Visit' || line.type === 'BranchStopped') addRecord(state, line);
  }
}

/** The state as the branch of a line sees it: what its records need. */
export function stateBeforeLine(state: RunState, line: LineFacts): StateBefore {
  const branch = 'branch' in line ? line.branch : undefined;
  return branch === undefined ? state : { ...viewOf(state, branch), begins: branchBegins(state, branch) };
}

/** Bytes of a context that every trace record repeats, and steps between two full records of a larger one. */
const smallContext = 4096;
const period = 50;

/** Whether a trace record of the `step`-th step repeats the whole context. */
const inFull = (context: Context, step: number): boolean =>
  step % period === 0 || Buffer.byteLength(JSON.stringify(context)) <= smallContext;

/** `status.json`: the seven fields of every outcome, and the class of a failure. */
export function statusOf(outcome: Outcome): JsonObject {
  return {
    schema_version: 1,
    outcome: outcome.status,
    preferred_next_label: outcome.label,
    suggested_next_ids: outcome.suggested,
    context_updates: outcome.updates,
    notes: outcome.notes,
    failure_reason: reasonOf(outcome),
    ...(outcome.status === 'fail' ? { failure_class: outcome.class } : {}),
    ...attributed(outcome),
    ...answeredBy(outcome),
  };
}

/** How a failure was classified, and the result of the rerun. */
const attributed = (outcome: Outcome) =>
  outcome.status !== 'fail'
    ? {}
    : {
        ...(outcome.attribution === undefined ? {} : { attribution: outcome.attribution }),
        ...(outcome.rerun === undefined ? {} : { rerun: outcome.rerun }),
      };

/** The agent that answered, where the node names several agents or models. */
const answeredBy = (outcome: Outcome) => (outcome.by === undefined ? {} : { answered_by: outcome.by });

type Visit = VisitFacts;

function startOf(
  { node: node_id, node_type, visit, branch }: Extract<LineFacts, { type: 'Began' }>,
  { context, steps, begins: isFirst = false }: StateBefore,
  node_artifact_dir: string,
  { sandbox, ...input }: NodeInput,
): Facts {
  const whole = inFull(context, steps) ? { context_before: { ...context } } : {};
  const about = { node_id, ...branchField(branch), visit };
  const confined = sandbox === undefined ? {} : { sandbox };
  return {
    events: [
      ...(isFirst && branch !== undefined ? [{ type: 'BranchStarted', branch } as const] : []),
      { type: 'StageStarted', ...about, node_type },
    ],
    trace: [{ type: 'NodeInputCaptured', ...about, ...input, ...whole, node_artifact_dir, ...confined }],
  };
}

function executionOf(record: Visit, before: StateBefore, nodeDir: string): Facts {
  const { node, outcome, route, branch } = record;
  const after = contextAfter(before.context, record.context);
  const broke = outcome.status === 'fail' && outcome.broke;
  const end = record.ended === undefined ? nothing : endOf(record.ended);
  return {
    events: [
      ...answerOf(record),
      ...steeredBy(record),
      stageEnded(record, before, after),
      { type: 'CheckpointSaved', last_completed_node: node, ...branchField(branch) },
      ...restartOf(record),
      ...parallelOf(record),
      ...end.events,
    ],
    trace: [
      ...(broke ? [{ type: 'NodeExecutionErrored', node_id: node, error: reasonOf(outcome) } as const] : []),
      outputCaptured(record, before.context, after, nodeDir),
      ...(route === undefined
        ? []
        : [
            {
              type: 'RouteEvaluated',
              from_node: node,
              ...branchField(branch),
              outcome: outcome.status,
              next_node: route.next,
              how: route.how,
              candidates: route.candidates,
            } as const,
          ]),
      ...end.trace,
    ],
  };
}

const restartOf = ({ node: node_id, branch, next_node, restart }: Visit): readonly EventFacts[] =>
  restart === undefined || next_node === null
    ? []
    : [{ type: 'LoopRestarted', node_id, ...branchField(branch), next_node, restart }];

/** Notes of people in its prompts. */
const steeredBy = ({ node: node_id, branch, visit, steered = [] }: Visit): readonly EventFacts[] =>
  steered.map(({ note, text, by, from }) => ({
    ...({ type: 'StageSteered', node_id, ...branchField(branch), visit } as const),
    ...{ note, text, by, from },
  }));

/** At a human gate. */
function answerOf({ node: node_id, branch, visit, answer }: Visit): readonly EventFacts[] {
  if (answer === undefined) return [];
  const { by, from } = answer;
  const about = {
    node_id,
    ...branchField(branch),
    question: questionIdOf(node_id, visit),
    answer: answeredText(answer),
  };
  return from === 'timeout'
    ? [{ type: 'InterviewTimeout', ...about }]
    : [{ type: 'InterviewCompleted', ...about, by, from }];
}

function stageEnded(record: Visit, before: StateBefore, after: Context): EventFacts {
  const { node: node_id, branch, visit, outcome, usage } = record;
  const elapsed_ms = Math.round(record.took_ms ?? record.elapsed_ms - before.elapsed_ms);
  const spent = {
    ...(usage === undefined ? {} : { usage }),
    ...(record.replayed === undefined ? {} : { replayed: true }),
    ...unsetKeysOf(record),
  };
  return outcome.status === 'fail'
    ? {
        type: 'StageFailed',
        node_id,
        ...branchField(branch),
        visit,
        failure_reason: outcome.reason,
        failure_class: outcome.class,
        ...(outcome.attribution === undefined ? {} : { attribution: outcome.attribution }),
        ...(outcome.broke ? { error: outcome.reason } : {}),
        elapsed_ms,
        ...spent,
      }
    : {
        type: 'StageCompleted',
        node_id,
        ...branchField(branch),
        visit,
        outcome: outcome.status,
        notes: outcome.notes,
        elapsed_ms,
        ...spent,
        ...workOrderOf(record, after),
      };
}

/** Keys that conditions after the node have read, and that nothing has set. */
function unsetKeysOf({ route }: Visit): { readonly unset_keys?: string[] } {
  const keys = [...new Set((route?.candidates ?? []).flatMap(({ unset = [] }) => unset))];
  return keys.length === 0 ? {} : { unset_keys: keys };
}

/** The current work order of a build, from the state that its step has left. */
function workOrderOf({ tool_state }: Visit, after: Context) {
  const build = buildStateIn(tool_state);
  const id = own(after, 'order.id');
  if (build === undefined || typeof id !== 'string') return {};
  const done = build.done.find((one) => one.id === id);
  const current = build.current?.id === id ? build.current : undefined;
  if (done === undefined && current === undefined) return {};
  return {
    work_order: {
      id,
      title: String(own(after, 'order.title') ?? ''),
      index: numberIn(after, 'order.index'),
      count: numberIn(after, 'order.count'),
      attempt: done?.attempts ?? current?.attempt ?? 0,
      done: done !== undefined,
      commit: done?.commit ?? null,
    },
  };
}

function numberIn(context: Context, key: string): number {
  const value = own(context, key);
  return typeof value === 'number' ? value : 0;
}

function outputCaptured(record: Visit, before: Context, after: Context, nodeDir: string): TraceFacts {
  const { node: node_id, branch, visit, outcome, usage } = record;
  return {
    type: 'NodeOutputCaptured',
    node_id,
    ...branchField(branch),
    visit,
    outcome: outcome.status,
    failure_reason: reasonOf(outcome),
    ...(outcome.status === 'fail' ? { failure_class: outcome.class } : {}),
    ...attributed(outcome),
    ...answeredBy(outcome),
    context_updates: outcome.updates,
    ...(inFull(after, record.steps) ? { context_after: after } : {}),
    context_delta: deltaOf(before, record.context),
    status_path: nodeLayout(nodeDir).status,
    ...(usage === undefined ? {} : { usage }),
    ...(record.replayed === undefined ? {} : { replayed: true }),
  };
}

function contextAfter(before: Context, { set, unset }: Visit['context']): Context {
  const after: Record<string, Json> = { ...before };
  for (const [key, value] of Object.entries(set)) put(after, key, value);
  for (const key of unset) delete after[key];
  return after;
}

function deltaOf(before: Context, { set, unset }: Visit['context']): ContextDelta {
  const added: Record<string, Json> = {};
  const updated: Record<string, Json> = {};
  for (const [key, value] of Object.entries(set)) {
    const was = own(before, key);
    if (was === undefined) put(added, key, value);
    else put(updated, key, { before: was, after: value });
  }
  return { added, updated, removed: unset };
}

/** Of a run that has ended. */
function endOf(end: Ended): Facts {
  if (isOverridden(end)) {
    const fact = { type: 'PipelineOverridden', reason: end.reason } as const;
    return { events: [fact], trace: [fact] };
  }
  const fact = end.ok
    ? ({ type: 'PipelineCompleted' } as const)
    : ({ type: 'PipelineFailed', error: end.reason } as const);
  return { events: [fact], trace: [fact] };
}

/** Of a run that has stopped before its next node. */
function stopOf(
  line: Pick<StoppedRecord, 'ended' | 'parked' | 'question' | 'signal' | 'request'>,
  next: string,
): Facts {
  const { ended, parked, question } = line;
  if (ended !== null) return endOf(ended);
  if (parked === undefined) {
    const fact = { type: 'PipelineInterrupted', signal: interruptedBy(line) } as const;
    return { events: [{ ...fact, next_node: next }], trace: [fact] };
  }
  const { status, node: node_id, reason, wake_at } = parked;
  return {
    events: [...askedOf(question), { type: 'PipelineParked', status, node_id, reason, wake_at }],
    trace: [{ type: 'PipelineParked', status, reason, wake_at }],
  };
}
