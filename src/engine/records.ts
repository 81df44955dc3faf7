/** Builds the records of an execution. Pure. */
import { present } from '../model/attribute.ts';
import type { RunState } from '../model/checkpoint.ts';
import type { Node, ParsedNode, Value } from '../model/graph.ts';
import type { VisitFacts } from '../model/journal-line.ts';
import type { Json } from '../model/json.ts';
import type { Context } from '../model/outcome.ts';
import { own, put } from '../model/own.ts';
import type { Spent } from '../model/spent.ts';
import type { TraceFacts } from '../model/trace.ts';
import type { ArtifactHashes } from '../store/artifact-hashes.ts';
import { inFull } from '../store/told.ts';
import { rungOf } from './confine.ts';
import { delta } from './context.ts';
import type { Step } from './decision.ts';
import type { ExecutionEnd, RunSetting } from './run-context.ts';
import { recordedEnd } from './step.ts';

/** What the trace says of a node. */
export const nodeInput = (node: ParsedNode, workspace: string) => ({
  node_type: present(node.attrs, 'type')?.value.text ?? '',
  node_shape: present(node.attrs, 'shape')?.value.text ?? 'box',
  node_attrs: Object.fromEntries(
    [...node.attrs.values()].map((a): [string, Json] => [a.key, plain(a.value)]),
  ),
  workspace,
});

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
    ...nodeInput(node, setting.workspace),
    ...(inFull(state.context, state.steps) ? { context_before: state.context } : {}),
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

/** The line of the journal for an execution. */
export function visitOf(
  node_type: string,
  { change, route, decision }: Step,
  before: { readonly state: RunState; readonly snapshot: { readonly id: string } },
  left: Omit<Extract<ExecutionEnd, { kind: 'ended' }>, 'kind' | 'context'> & {
    readonly contextBefore: Context;
    readonly tookMs: number;
    readonly elapsedMs: number;
    readonly spent: Spent;
    readonly asked: string | undefined;
    readonly artifacts: ArtifactHashes;
  },
): VisitFacts {
  const { counts, commands, artifacts, tookMs } = left;
  const { last_failure, next_node, arrived, steps, at, last_outcome: outcome } = change.now;
  return {
    schema_version: 1,
    type: 'Visit',
    at,
    node: change.node,
    node_type,
    visit: change.visit,
    before: before.snapshot.id,
    after: left.snapshot.id,
    outcome,
    retries: counts.retries,
    calls: counts.calls,
    context: changes(left.contextBefore, change.now.context),
    origins: { set: change.origins },
    ...(left.toolState === undefined ? {} : { tool_state: left.toolState }),
    ...(last_failure === before.state.last_failure ? {} : { last_failure }),
    ...(change.alike === undefined ? {} : { alike: change.alike }),
    next_node,
    arrived,
    steps,
    elapsed_ms: left.elapsedMs,
    ...(commands.length > 0 ? { commands: [...commands] } : {}),
    artifacts: artifacts.hashes,
    ...(artifacts.more > 0 ? { artifacts_more: artifacts.more } : {}),
    ...(left.asked === undefined ? {} : { asked_sha256: left.asked }),
    ...(left.replayed === undefined ? {} : { replayed: left.replayed }),
    ...(left.usage === undefined ? {} : { usage: left.usage }),
    took_ms: tookMs,
    ...(route === undefined
      ? {}
      : { route: { next: route.edge?.to ?? '', how: route.how, candidates: route.candidates } }),
    spent: left.spent,
    ...(decision.do === 'finish' ? { ended: recordedEnd(decision.ending) } : {}),
  };
}

/** The context's keys that were set, and those that were removed. */
function changes(before: Context, after: Context): VisitFacts['context'] {
  const { added, updated, removed } = delta(before, after);
  const set: Record<string, Json> = {};
  for (const key of [...Object.keys(added), ...Object.keys(updated)]) put(set, key, own(after, key) ?? null);
  return { set, unset: [...removed] };
}
