/** The state of a run in memory, and how an execution changes it. */
import type { Alike } from '../model/attribution.ts';
import type { Checkpoint, NodeOutcome, RunState } from '../model/checkpoint.ts';
import type { Outcome } from '../model/outcome.ts';
import { own, put } from '../model/own.ts';

/** The changes of the state by a finished execution. */
export type Change = {
  readonly node: string;
  readonly visit: number;
  readonly outcome: NodeOutcome;
  /** Who set the context keys: a tool, an agent or the engine. */
  readonly origins: Checkpoint['origins'];
  /** Repeated failures of the node: null if they end, undefined if unchanged. */
  readonly alike?: Alike | null | undefined;
  /** True if an agent ran. */
  readonly agent?: boolean;
  /** Fields that are replaced as a whole. */
  readonly now: Pick<
    RunState,
    'context' | 'steps' | 'last_completed_node' | 'last_failure' | 'next_node' | 'arrived' | 'at'
  > & { readonly last_outcome: Outcome };
};

/** Counts of a node over all its executions so far. */
export type Counts = {
  readonly retries: number;
  readonly calls: number;
  /** Milliseconds of this execution alone. */
  readonly tookMs?: number;
};

/** The state after an execution. Changes the maps of `state` in place. */
export function advance(state: RunState, change: Change, { retries, calls, tookMs = 0 }: Counts): RunState {
  const { node } = change;
  put(state.visits, node, change.visit);
  put(state.outcomes, node, change.outcome);
  if (retries > 0) put(state.retry_counts, node, retries);
  if (calls > 0) put(state.calls, node, calls);
  for (const [key, who] of Object.entries(change.origins)) put(state.origins, key, who);
  const asked = change.agent === true ? { agent_step: change.now.steps } : {};
  const repeats = change.alike === undefined ? {} : { alike: repeated(state, node, change.alike) };
  if (tookMs === 0) return { ...state, ...change.now, ...asked, ...repeats };
  const times = state.node_ms ?? {};
  put(times, node, (own(times, node) ?? 0) + tookMs);
  return { ...state, ...change.now, ...asked, ...repeats, node_ms: times };
}

function repeated(state: RunState, node: string, now: Alike | null): Record<string, Alike> {
  const alike = state.alike ?? {};
  if (now === null) delete alike[node];
  else put(alike, node, now);
  return alike;
}
