/** Builds the records of an execution. Pure. */
import type { Spent } from '../core/budget/usage.ts';
import { delta } from '../core/context.ts';
import type { Step } from '../core/decision.ts';
import type { EventFacts, RunEvent } from '../core/events.ts';
import { nodeOf, type ParsedNode } from '../core/graph.ts';
import { type Json, own, put } from '../core/json.ts';
import type { Context } from '../core/outcome.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import type { VisitFacts } from '../core/records/journal.ts';
import { layout } from '../core/records/layout.ts';
import type { TraceFacts, TraceRecord } from '../core/records/trace.ts';
import type { ThreadRecord } from '../core/records/visit.ts';
import { present, type Value } from '../core/settings/types.ts';
import { recordedEnd } from '../core/step.ts';
import type { ArtifactHashes } from '../run/artifacts.ts';
import type { ViewPlaces, ViewRecords } from '../run/view-records.ts';
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

/** What the records of the views need of a run that is executed. */
export const viewPlaces = (run: Run): ViewPlaces => ({
  runDir: run.runDir,
  input(id) {
    const node = nodeOf(run.graph, id);
    if (node === undefined) throw new Error(`Internal: no node ${id} in a linted graph`);
    const isExecutable = run.kinds.find(({ type }) => type === node.type)?.executable === true;
    return {
      ...nodeInput(node, layout(run.runDir).workspace),
      ...(isExecutable ? { sandbox: sandboxLevelOf(run, node) } : {}),
    };
  },
});

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
  { change, route, decision, fork, joined }: Step,
  before: { readonly state: RunState; readonly snapshot: { readonly id: string } },
  left: Omit<Extract<ExecutionEnd, { kind: 'ended' }>, 'kind' | 'context' | 'thread'> & {
    readonly thread?: ThreadRecord | undefined;
    readonly contextBefore: Context;
    /** The innermost branch that it is in. */
    readonly branch?: string | undefined;
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
    type: 'Visit',
    at,
    node: change.node,
    node_type,
    visit: change.visit,
    ...(left.branch === undefined ? {} : { branch: left.branch }),
    ...(left.setup === undefined ? {} : { setup: left.setup.record }),
    before: before.snapshot.id,
    after: left.snapshot.id,
    outcome,
    retries: counts.retries,
    calls: counts.calls,
    context: changes(left.contextBefore, change.now.context),
    origins: { set: change.origins },
    ...(left.toolState === undefined ? {} : { tool_state: left.toolState }),
    ...(left.thread === undefined ? {} : { thread: left.thread }),
    ...(last_failure === before.state.last_failure ? {} : { last_failure }),
    ...(change.alike === undefined ? {} : { alike: change.alike }),
    next_node,
    arrived,
    ...(change.restart === undefined ? {} : { restart: change.restart }),
    ...(fork === undefined ? {} : { fork }),
    ...(decision.do === 'end_branch' ? { branch_ended: decision.ended } : {}),
    ...(joined === undefined ? {} : { joined }),
    steps,
    elapsed_ms: left.elapsedMs,
    ...(commands.length > 0 ? { commands: [...commands] } : {}),
    artifacts: artifacts.hashes,
    ...(artifacts.more > 0 ? { artifacts_more: artifacts.more } : {}),
    ...(left.asked === undefined ? {} : { asked_sha256: left.asked }),
    ...(left.replayed === undefined ? {} : { replayed: left.replayed }),
    ...(left.answer === undefined ? {} : { answer: left.answer }),
    ...(left.steered === undefined ? {} : { steered: [...left.steered] }),
    ...(left.usage === undefined ? {} : { usage: left.usage }),
    took_ms: tookMs,
    ...(route === undefined
      ? {}
      : {
          route: { next: route.edge?.to ?? fork?.join ?? '', how: route.how, candidates: route.candidates },
        }),
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

/** Appends records to the views, each with a line of the journal; passes events to the watcher. */
export function eventWriter({
  clock,
  watcher,
  events,
  trace,
  journal,
  branch,
}: Pick<Run, 'clock' | 'watcher' | 'events' | 'trace' | 'branch'> & {
  readonly journal: Pick<Run['journal'], 'viewed'>;
}) {
  const stamped = <T extends { readonly type: string }>({ type, ...rest }: T) =>
    ({ schema_version: 1, type, at: clock.now().toISOString(), ...rest }) as const;
  const append = (records: ViewRecords, line = journal.viewed()): void => {
    for (const record of records.events) {
      events.append(record, line);
      watcher.event(record);
    }
    for (const record of records.trace) trace.append(record, line);
  };
  return {
    /** What no line of the journal gives. */
    async event(facts: EventFacts): Promise<void> {
      const inBranch = branch === undefined ? {} : { branch };
      append({ events: [stamped({ ...facts, ...inBranch }) as RunEvent], trace: [] });
    },
    async trace(facts: TraceFacts): Promise<void> {
      append({ events: [], trace: [stamped(facts) as TraceRecord] });
    },
    /** What a line of the journal gives, with its number; by default that of the last one. */
    append,
  };
}
