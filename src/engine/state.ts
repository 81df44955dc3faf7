/** How an execution changes the state of a run. Types only. */
import type { Alike } from '../model/attribution.ts';
import type { Checkpoint, NodeOutcome, RunState } from '../model/checkpoint.ts';
import type { Outcome } from '../model/outcome.ts';

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
};
