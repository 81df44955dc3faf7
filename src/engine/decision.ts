/** What a run does next, and the facts that decide it. Types only. */
import type { Alike } from '../model/attribution.ts';
import type { RunState } from '../model/checkpoint.ts';
import type { Node } from '../model/graph.ts';
import type { Json } from '../model/json.ts';
import type { Parked } from '../model/park.ts';
import type { Spent } from '../model/spent.ts';
import type { NodeKind } from '../nodes/kind.ts';
import type { Caps } from './caps.ts';
import type { Route } from './route.ts';
import type { Change } from './state.ts';

/** How a run ends. `code` is the process's exit code. */
export type RunEnding = {
  readonly ok: boolean;
  readonly exitNode: string | null;
  readonly reason: string;
  readonly code: number;
  /** True if a disk error ended the run. */
  readonly disk?: boolean;
};

/** What ends a run, or stops it until it is resumed. */
export type Stop =
  | { readonly do: 'finish'; readonly ending: RunEnding }
  | { readonly do: 'suspend'; readonly parked: Parked }
  | { readonly do: 'interrupt' };

/** An execution that is about to begin; `state` is the state that it sees. */
export type NextExecution = {
  readonly node: Node;
  readonly kind: NodeKind;
  readonly visit: number;
  readonly state: RunState;
};

export type RunPlan = Stop | ({ readonly do: 'execute' } & NextExecution);

/** The facts, besides the state, that decide whether the next node starts. */
export type PlanFacts = {
  readonly kinds: readonly NodeKind[];
  readonly caps: Caps;
  /** Milliseconds of the run so far, over all resumes. */
  readonly elapsedMs: number;
  readonly spent: Spent;
  /** Models that answered and have no price. */
  readonly unpriced: readonly string[];
  readonly interrupted: boolean;
  /** Why a replay cannot execute the node: the recorded run executed another one. */
  readonly replay?: string | undefined;
};

/** What follows a finished node. */
export type Step = {
  readonly change: Change;
  /** Undefined for an exit node. */
  readonly route: Route | undefined;
  readonly decision:
    | { readonly do: 'run'; readonly node: string }
    | { readonly do: 'finish'; readonly ending: RunEnding };
};

/** The facts about a finished node besides its outcome. */
export type StepFacts = {
  readonly node: string;
  /** The kind's name: `tool`, `exit`, … */
  readonly type: string;
  readonly executable: boolean;
  /** `last_failure.*` for a failed node, read from its artifacts. */
  readonly feedback: { readonly [key: string]: Json };
  /** The end of what a tool printed. */
  readonly output?: string | undefined;
  readonly at: string;
  /** Repeated failures of the node: null if they end, undefined if unchanged. */
  readonly repeats?: Alike | null | undefined;
  /** Why the audit rejects a success of the run. */
  readonly audit?: string | undefined;
  /** Why a replay must stop here: the recorded run took another edge. */
  readonly replay?: string | undefined;
  /** Test only: the run stops after this node, whatever follows. */
  readonly testStop?: boolean;
};
