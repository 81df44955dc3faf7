/** Builds the records of an execution. Pure. */
import type { Spent } from '../core/budget/usage.ts';
import type { Step } from '../core/decision.ts';
import type { EventFacts, RunEvent } from '../core/events.ts';
import type { Node, ParsedNode } from '../core/graph.ts';
import { type Json, own, put } from '../core/json.ts';
import type { Context } from '../core/outcome.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import type { VisitFacts } from '../core/records/journal.ts';
import type { TraceFacts } from '../core/records/trace.ts';
import { present, type Value } from '../core/settings/types.ts';
import { delta, recordedEnd } from '../core/step.ts';
import type { ArtifactHashes } from '../run/artifacts.ts';
import { inFull, type Told } from '../run/derived-records.ts';
import { sandboxLevelOf } from './confinement.ts';
import type { ExecutionEnd, Run } from './run-context.ts';

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
  run: Run,
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
    ...nodeInput(node, run.workspace),
    ...(inFull(state.context, state.steps) ? { context_before: state.context } : {}),
    node_artifact_dir: nodeDir,
    ...(executable ? { sandbox: sandboxLevelOf(run, node) } : {}),
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

/** Writes the events and trace records of a run. */
export type EventWriter = ReturnType<typeof eventWriter>;

/** Appends events and trace records with their time; passes events to the watcher. */
export function eventWriter({
  clock,
  watcher,
  events,
  trace,
}: Pick<Run, 'clock' | 'watcher' | 'events' | 'trace'>) {
  const stamp = () => ({ schema_version: 1 as const, at: clock.now().toISOString() });
  return {
    async event(facts: EventFacts): Promise<void> {
      const { type, ...rest } = facts;
      const record = { schema_version: 1, type, at: stamp().at, ...rest } as RunEvent;
      await events.append(record);
      watcher.event(record);
    },
    async trace(facts: TraceFacts): Promise<void> {
      const { type, ...rest } = facts;
      await trace.append({ schema_version: 1, type, at: stamp().at, ...rest });
    },
    async tell(told: Told): Promise<void> {
      for (const facts of told.events) await this.event(facts);
      for (const facts of told.trace) await this.trace(facts);
    },
  };
}
