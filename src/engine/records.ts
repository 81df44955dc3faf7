/** Builds the records of an execution. Pure. */
import type { Usage } from '../agents/agent.ts';
import type { RunState } from '../model/checkpoint.ts';
import type { EventFacts } from '../model/event.ts';
import type { Node, Value } from '../model/graph.ts';
import type { Json, JsonObject } from '../model/json.ts';
import { nodeLayout } from '../model/layout.ts';
import type { Context, Outcome } from '../model/outcome.ts';
import { reasonOf } from '../model/outcome.ts';
import { own, put } from '../model/own.ts';
import type { ContextDelta, TraceFacts } from '../model/trace.ts';
import type { RanCommand } from '../model/visit-record.ts';
import type { ArtifactHashes } from '../store/artifact-hashes.ts';
import type { VisitFacts } from '../store/visits.ts';
import { rungOf } from './confine.ts';
import { inFull } from './full-trace.ts';
import type { RunSetting } from './run-context.ts';
import type { Change, Counts } from './state.ts';

/** `status.json`: the seven fields of every outcome, and the class of a failure. */
export function status(outcome: Outcome): JsonObject {
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

/** The event that ends an execution; `elapsed` in milliseconds. */
export function stageEnded(
  node_id: string,
  visit: number,
  outcome: Outcome,
  elapsed: number,
  usage: Usage | undefined,
  replayed: boolean,
): EventFacts {
  const elapsed_ms = Math.round(elapsed);
  const spent = { ...(usage === undefined ? {} : { usage }), ...(replayed ? { replayed } : {}) };
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
      };
}

/** The trace record of an execution's input. */
export function inputCaptured(
  setting: RunSetting,
  node: Node,
  visit: number,
  state: RunState,
  nodeDir: string,
  executable: boolean,
): TraceFacts {
  return {
    type: 'NodeInputCaptured',
    node_id: node.id,
    visit,
    node_type: node.settings.type ?? '',
    node_shape: node.settings.shape,
    node_attrs: Object.fromEntries(
      [...node.attrs.values()].map((a): [string, Json] => [a.key, plain(a.value)]),
    ),
    ...(inFull(state.context, state.steps) ? { context_before: state.context } : {}),
    workspace: setting.workspace,
    node_artifact_dir: nodeDir,
    ...(executable ? { sandbox: rungOf(setting, node) } : {}),
  };
}

/** An attribute's value in JSON; durations in nanoseconds, as trace readers expect. */
function plain(value: Value): Json {
  switch (value.kind) {
    case 'string':
      return value.text;
    case 'duration':
      return value.ms * 1_000_000;
    default:
      return value.value;
  }
}

/** The trace record of an execution's outcome and its changes of the context. */
export function outputCaptured(
  node_id: string,
  visit: number,
  outcome: Outcome,
  after: Context,
  changed: ContextDelta,
  step: number,
  nodeDir: string,
  usage?: Usage,
  replayed?: number,
): TraceFacts {
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
    ...(inFull(after, step) ? { context_after: after } : {}),
    context_delta: changed,
    status_path: nodeLayout(nodeDir).status,
    ...(usage === undefined ? {} : { usage }),
    ...(replayed === undefined ? {} : { replayed: true }),
  };
}

/** The line of `visits.jsonl` for an execution. */
export function visited(
  node_type: string,
  change: Change,
  { retries, calls, tookMs = 0 }: Counts,
  { added, updated, removed }: ContextDelta,
  before: { readonly state: RunState; readonly snapshot: { readonly id: string } },
  after: RunState & { readonly snapshot: string },
  left: ArtifactHashes & {
    readonly commands: readonly RanCommand[];
    readonly toolState: JsonObject | undefined;
    readonly replayed: number | undefined;
    readonly asked: string | undefined;
    readonly usage: Usage | undefined;
  },
): VisitFacts {
  const context: Record<string, Json> = {};
  for (const [key, value] of Object.entries(added)) put(context, key, value);
  for (const key of Object.keys(updated)) put(context, key, own(after.context, key) ?? null);
  const { last_failure, next_node, arrived, steps, at } = change.now;
  return {
    schema_version: 1,
    type: 'Visit',
    at,
    node: change.node,
    node_type,
    visit: change.visit,
    before: before.snapshot.id,
    after: after.snapshot,
    outcome: change.now.last_outcome,
    retries,
    calls,
    context: { set: context, unset: [...removed] },
    origins: { set: change.origins },
    ...(left.toolState === undefined ? {} : { tool_state: left.toolState }),
    ...(last_failure === before.state.last_failure ? {} : { last_failure }),
    ...(change.alike === undefined ? {} : { alike: change.alike }),
    next_node,
    arrived,
    steps,
    elapsed_ms: after.elapsed_ms,
    ...(left.commands.length > 0 ? { commands: [...left.commands] } : {}),
    artifacts: left.hashes,
    ...(left.more > 0 ? { artifacts_more: left.more } : {}),
    ...(left.asked === undefined ? {} : { asked_sha256: left.asked }),
    ...(left.replayed === undefined ? {} : { replayed: left.replayed }),
    ...(left.usage === undefined ? {} : { usage: left.usage }),
    ...(tookMs > 0 ? { took_ms: tookMs } : {}),
  };
}
