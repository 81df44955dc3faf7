/** What a run does next, and the facts that decide it. Types only. */

import type { Spent } from './budget/usage.ts';
import type { NodeKind } from './contracts/node-kind.ts';
import type { Node } from './graph.ts';
import type { Json } from './json.ts';
import type { LaneBounds } from './lane-bounds.ts';
import type { Outcome, RepeatedFailure, SuspendedRun } from './outcome.ts';
import type { Checkpoint, EndCause, NodeOutcome, RunState } from './records/checkpoint.ts';
import type { BranchEnd, OpenedFork } from './records/fork.ts';
import type { Question } from './records/question.ts';
import type { Route } from './routing.ts';
import type { Caps } from './settings/limits.ts';

/** How a run ends. `code` is the process's exit code. */
export type RunEnding = {
  readonly ok: boolean;
  readonly exitNode: string | null;
  readonly reason: string;
  readonly code: number;
  readonly cause?: EndCause;
  /** True if a disk error ended the run. */
  readonly disk?: boolean;
  /** True if a limit ends it that is not one of the whole run: in a branch it ends only the branch. */
  readonly ofBranch?: true;
  /** True if executions that are under way in other branches may finish: what they have paid for is kept. */
  readonly orderly?: true;
};

/** What ends a run, or stops it until it is resumed. */
export type Stop =
  | { readonly do: 'finish'; readonly ending: RunEnding }
  | {
      readonly do: 'suspend';
      readonly parked: SuspendedRun;
      /** Asked now. */
      readonly question?: Question;
    }
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
  readonly change: StateChange;
  /** Undefined for an exit node. */
  readonly route: Route | undefined;
  readonly decision:
    | { readonly do: 'run'; readonly node: string }
    | { readonly do: 'finish'; readonly ending: RunEnding }
    /** The branch has reached its join, or ends before it. */
    | { readonly do: 'end_branch'; readonly ended: BranchEnd };
  /** The branches that begin now. */
  readonly fork?: OpenedFork;
  /** The node whose branches have met in this one. */
  readonly joined?: string;
};

/** The facts about a finished node besides its outcome. */
export type StepFacts = {
  readonly node: string;
  /** The kind's name: `tool`, `exit`, … */
  readonly type: string;
  readonly executable: boolean;
  /** `last_failure.*` for a failed node, read from its artifacts. */
  readonly feedback: { readonly [key: string]: Json };
  /** The reason of a failure without lines of the holdout, where a run has one: the end of a run that can be resumed
   *  may quote it. */
  readonly printable?: string | undefined;
  /** The end of what a tool printed. */
  readonly output?: string | undefined;
  /** The keys about the latest answer and output that the graph names; an empty one has no value any more. */
  readonly latest?: Readonly<Record<string, string>>;
  readonly at: string;
  /** In a branch. */
  readonly lane?: Omit<LaneBounds, 'graph'> | undefined;
  /** Branches that begin after the node, where its edges do not say which. */
  readonly opens?: OpenedFork | undefined;
  /** The node has joined branches: whom each key in its updates is from, where not from itself. */
  readonly joined?: { readonly origins: Checkpoint['origins'] } | undefined;
  /** Repeated failures of the node: null if they end, undefined if unchanged. */
  readonly repeats?: RepeatedFailure | null | undefined;
  /** Why the audit rejects a success of the run. */
  readonly audit?: string | undefined;
  /** Why a replay must stop here: the recorded run took another edge. */
  readonly replay?: string | undefined;
  /** Test only: the run stops after this node, whatever follows. */
  readonly testStop?: boolean;
};

export type RunEnd = {
  readonly state: RunState;
  readonly ending: RunEnding;
  readonly interrupted: boolean;
  /** Set when the run is suspended. */
  readonly parked?: SuspendedRun;
};

/* How an execution changes the state of a run. Types only. */

/** The changes of the state by a finished execution. */
export type StateChange = {
  readonly node: string;
  readonly visit: number;
  readonly outcome: NodeOutcome;
  /** Who set the context keys: a tool, an agent or the engine. */
  readonly origins: Checkpoint['origins'];
  /** Repeated failures of the node: null if they end, undefined if unchanged. */
  readonly alike?: RepeatedFailure | null | undefined;
  /** True if an agent ran. */
  readonly agent?: boolean;
  /** The number of the restart by which the next round begins. */
  readonly restart?: number;
  /** Fields that are replaced as a whole. */
  readonly now: Pick<
    RunState,
    'context' | 'steps' | 'last_completed_node' | 'last_failure' | 'next_node' | 'arrived' | 'at'
  > & { readonly last_outcome: Outcome };
};

/** Counts of a node over all its executions so far. */
export type NodeCounts = {
  readonly retries: number;
  readonly calls: number;
};
