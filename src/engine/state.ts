/** The state of a run in memory, and how a visit changes it. */
import type { Checkpoint, NodeOutcome, RunState } from '../model/checkpoint.ts';
import type { Outcome } from '../model/outcome.ts';
import { put } from '../model/own.ts';

/** What a finished visit changes. */
export type Change = {
  readonly node: string;
  readonly visit: number;
  readonly outcome: NodeOutcome;
  /** Who set the context keys that the visit set. */
  readonly origins: Checkpoint['origins'];
  /** All that is replaced as a whole. */
  readonly now: Pick<
    RunState,
    'context' | 'steps' | 'last_completed_node' | 'last_failure' | 'next_node' | 'arrived' | 'at'
  > & { readonly last_outcome: Outcome };
};

/** What a visit counted of its node, over all visits so far; nothing where it is 0. */
export type Counts = { readonly retries: number; readonly calls: number };

/** The state after a visit. Takes `state` over: what it keeps by node is changed in place. */
export function advance(state: RunState, change: Change, { retries, calls }: Counts): RunState {
  const { node } = change;
  put(state.visits, node, change.visit);
  put(state.outcomes, node, change.outcome);
  if (retries > 0) put(state.retry_counts, node, retries);
  if (calls > 0) put(state.calls, node, calls);
  for (const [key, who] of Object.entries(change.origins)) put(state.origins, key, who);
  return { ...state, ...change.now };
}
