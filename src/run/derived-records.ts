/** The events and trace records that an execution and the end of a run leave: written after the journal's line, from what it
 *  says. */
import type { EventFacts } from '../core/events.ts';
import { type Json, type JsonObject, own, put } from '../core/json.ts';
import { type Context, type Outcome, reasonOf } from '../core/outcome.ts';
import { buildStateIn } from '../core/records/build.ts';
import type { StoppedRecord } from '../core/records/journal.ts';
import { nodeLayout } from '../core/records/layout.ts';
import type { ContextDelta, TraceFacts } from '../core/records/trace.ts';
import type { VisitRecord } from '../core/records/visit.ts';

export type Told = { readonly events: readonly EventFacts[]; readonly trace: readonly TraceFacts[] };

/** Bytes of a context that every trace record repeats, and steps between two full records of a larger one. */
const smallContext = 4096;
const period = 50;

/** Whether a trace record of the `step`-th step repeats the whole context. */
export const inFull = (context: Context, step: number): boolean =>
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

type Line = Omit<VisitRecord, 'run_id' | 'seq' | 'epoch' | 'prev'>;
/** What the state was before the execution. */
type Before = { readonly context: Context; readonly elapsed_ms: number };

/** What an execution leaves when it is committed. `nodeDir`: as the run calls its folder. */
export function toldOfVisit(record: Line, before: Before, nodeDir: string): Told {
  const { node, outcome, route } = record;
  const after = contextAfter(before.context, record.context);
  const broke = outcome.status === 'fail' && outcome.broke;
  return {
    events: [stageEnded(record, before, after), { type: 'CheckpointSaved', last_completed_node: node }],
    trace: [
      ...(broke ? [{ type: 'NodeExecutionErrored', node_id: node, error: reasonOf(outcome) } as const] : []),
      outputCaptured(record, before.context, after, nodeDir),
      ...(route === undefined
        ? []
        : [
            {
              type: 'RouteEvaluated',
              from_node: node,
              outcome: outcome.status,
              next_node: route.next,
              how: route.how,
              candidates: route.candidates,
            } as const,
          ]),
    ],
  };
}

function stageEnded(record: Line, before: Before, after: Context): EventFacts {
  const { node: node_id, visit, outcome, usage } = record;
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
        visit,
        outcome: outcome.status,
        notes: outcome.notes,
        elapsed_ms,
        ...spent,
        ...workOrderOf(record, after),
      };
}

/** Keys that conditions after the node have read, and that nothing has set. */
function unsetKeysOf({ route }: Line): { readonly unset_keys?: string[] } {
  const keys = [...new Set((route?.candidates ?? []).flatMap(({ unset = [] }) => unset))];
  return keys.length === 0 ? {} : { unset_keys: keys };
}

/** The current work order of a build, from the state that its step has left. */
function workOrderOf({ tool_state }: Line, after: Context) {
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

function outputCaptured(record: Line, before: Context, after: Context, nodeDir: string): TraceFacts {
  const { node: node_id, visit, outcome, usage } = record;
  return {
    type: 'NodeOutputCaptured',
    node_id,
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

function contextAfter(before: Context, { set, unset }: Line['context']): Context {
  const after: Record<string, Json> = { ...before };
  for (const [key, value] of Object.entries(set)) put(after, key, value);
  for (const key of unset) delete after[key];
  return after;
}

function deltaOf(before: Context, { set, unset }: Line['context']): ContextDelta {
  const added: Record<string, Json> = {};
  const updated: Record<string, Json> = {};
  for (const [key, value] of Object.entries(set)) {
    const was = own(before, key);
    if (was === undefined) put(added, key, value);
    else put(updated, key, { before: was, after: value });
  }
  return { added, updated, removed: unset };
}

/** What the end of a run leaves. */
export function toldOfEnd(end: { readonly ok: boolean; readonly reason: string }): Told {
  const told = end.ok
    ? ({ type: 'PipelineCompleted' } as const)
    : ({ type: 'PipelineFailed', error: end.reason } as const);
  return { events: [told], trace: [told] };
}

/** What a run leaves that has stopped before its next node. */
export function toldOfStop(
  { ended, parked, signal = '' }: Pick<StoppedRecord, 'ended' | 'parked' | 'signal'>,
  next: string,
): Told {
  if (ended !== null) return toldOfEnd(ended);
  if (parked === undefined) {
    const told = { type: 'PipelineInterrupted', signal } as const;
    return { events: [{ ...told, next_node: next }], trace: [told] };
  }
  const { status, node: node_id, reason, wake_at } = parked;
  return {
    events: [{ type: 'PipelineParked', status, node_id, reason, wake_at }],
    trace: [{ type: 'PipelineParked', status, reason, wake_at }],
  };
}
