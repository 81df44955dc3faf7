/** The contract of a layer: a rule that surrounds every execution of a node. */

import type { LimitHit } from '../../core/budget/limits.ts';
import type { Usage } from '../../core/budget/usage.ts';
import type { NodeContext, NodeKind } from '../../core/contracts/node-kind.ts';
import type { NodeCounts } from '../../core/decision.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { Context, Outcome } from '../../core/outcome.ts';
import type { RunState } from '../../core/records/checkpoint.ts';
import type { OpenedFork } from '../../core/records/fork.ts';
import type { TakenAnswer } from '../../core/records/question.ts';
import type { RanCommand, SetupRecord } from '../../core/records/visit.ts';
import type { Caps } from '../../core/settings/limits.ts';
import type { HoldoutMount } from '../../holdout/mount.ts';
import type { RemovedHoldout } from '../../holdout/sealed-files.ts';
import type { Hidden, Recorder } from '../../run/record.ts';
import type { Snapshot, Snapshots, Stray } from '../../workspace/snapshot.ts';
import type { Lookout } from '../../workspace/walk.ts';
import type { AttemptSecrets } from '../attempt-secrets.ts';
import type { BudgetGuard } from '../budget-guard.ts';
import type { CostLedger } from '../cost-ledger.ts';
import type { EventWriter } from '../event-log.ts';
import type { AttemptRecords } from '../node-records.ts';
import type { KeptThread, Run } from '../run-context.ts';
import type { ExecutionNotes } from '../steering.ts';

/** The limits of an execution. */
export type ExecutionBudget = {
  readonly calls: BudgetGuard;
  /** Milliseconds left for an attempt, the part that is reserved for verification left out. */
  timeLeft(): number;
  /** Why the time of node or run is over, or undefined. */
  outOfTime(): LimitHit | undefined;
  /** Why no further attempt may be made, or undefined. */
  reached(): LimitHit | undefined;
};

/** Executes a node, or an attempt at it. Whatever a node does is an outcome; a rejection ends the run. */
export type Execute = (context: LayerContext) => Promise<Executed>;

/** Wraps what is further in: it may change the context on the way in, the result on the way out, call `next` several times or
 *  not at all. */
export type Layer = (next: Execute) => Execute;

/** How an execution ended. The fields that may be missing are those of the layer that is named. */
export type Executed = {
  readonly outcome: Outcome;
  /** The workspace after it. */
  readonly snapshot: Snapshot;
  /** The run's context that it saw, with what the engine has counted; by `retry` and `replay`. */
  readonly context?: Context;
  readonly counts?: NodeCounts;
  /** It has joined branches: who has set keys of its updates, where it was not the node itself. */
  readonly joined?:
    | { readonly origins: RunState['origins']; readonly failure?: Readonly<Record<string, Json>> }
    | undefined;
  /** Branches that begin after it, where its edges do not say which. */
  readonly opens?: OpenedFork | undefined;
  /** Of a human gate. */
  readonly answer?: TakenAnswer | undefined;
  /** By `replay`: number of the recorded execution that answered instead. */
  readonly replayed?: number;
  /** The state of the run's tools, if it changed. */
  readonly toolState?: JsonObject | undefined;
  /** By `setup`: the commands that made the workspace ready for it, and the workspace that they left. */
  readonly setup?: { readonly record: SetupRecord; readonly ready: Snapshot };
  /** By `record`: what the agent kept of its conversation. */
  readonly thread?: KeptThread | undefined;
  /** By `record`: what the model calls used and cost. */
  readonly usage?: Usage | undefined;
  /** By `sandbox`: programs of tools and checks that it has run. */
  readonly commands?: readonly RanCommand[];
  /** By `holdout`: what it found at sealed paths; copies of holdout files among the files that changed. */
  readonly holdout?: { readonly removed: RemovedHoldout } & Pick<HoldoutMount, 'copies'>;
  /** By `checks`: what a check used and must not change, but was changed while it ran. */
  readonly tampered?: readonly string[];
  /** By `holdout` and `snapshot`: why the workspace cannot be recorded; everything that the node wrote was undone. */
  readonly unreadable?: string;
  /** By `snapshot`: sockets, pipes and devices that it left; they are removed. */
  readonly strays?: readonly Stray[];
  /** The system error that the outcome reports. */
  readonly error?: Error;
};

/** One attempt at an execution. */
export type AttemptFacts = NodeContext['attempt'] & {
  /** 1-based number of the agent call that it would make. */
  readonly call: number;
  /** `runLeftMs`: the rest of the run's time limit. */
  readonly timeout: { readonly ms: number; readonly explicit: boolean; readonly runLeftMs: number };
};

/** What a layer is handed. The parts that a layer adds are there for the layers further in; reading one too early is an internal
 *  error. */
export interface LayerContext extends NodeContext {
  readonly run: Run;
  readonly kind: NodeKind;
  readonly visit: number;
  readonly nodeDir: string;
  /** The run's state as the execution sees it. */
  readonly state: RunState;
  /** The workspace before it. */
  readonly before: Snapshot;
  readonly snapshots: Snapshots;
  /** Of people, for the prompts of its agent. */
  readonly notes: ExecutionNotes;
  readonly limits: {
    readonly caps: Caps;
    readonly costs: CostLedger;
    /** Milliseconds of the run so far, over all resumes. */
    elapsed(): number;
    /** The run was suspended for an outage, has waited, and only tries whether it is over. */
    readonly probes: boolean;
  };
  readonly writer: EventWriter;
  /** By `setup`: what runs are its commands, which have the settings of the graph. */
  readonly isSetup?: true;
  /** The same context with the parts that a layer adds. */
  with(parts: Partial<LayerContext>): LayerContext;

  // By `budget`.
  readonly budget: ExecutionBudget;
  // By `retry`, for each attempt; `inputs`, `workspace`, `files`, `ask` and `wait` too, and a `log` that masks secrets.
  readonly attempt: AttemptFacts;
  readonly secrets: AttemptSecrets;
  /** The attempt's end on the monotonic clock. */
  readonly deadline: number;
  /** What no snapshot has of the attempt; the layers add to it. */
  readonly hidden: Hidden;
  readonly records: AttemptRecords;
  readonly toolState: NodeContext['toolState'] & { now(): JsonObject | undefined };
  /** The answer of a person that the attempt got. */
  readonly answered: () => TakenAnswer | undefined;
  // By `checks`, for a check; absolute paths.
  readonly checked?: { readonly frozen: readonly string[]; readonly pinned: readonly string[] };
  // By `record`, besides `agent`; undefined in the second run of a failed scenario.
  readonly exchange?: Recorder;
  readonly lookout?: Lookout;
  /** By `base-tree`: the folder with the tree with which the run began. */
  readonly baseTree?: string;
  /** By `strength`, where the strength of the scenarios is measured: the file for mutants that they did not notice, alone in its
   *  folder. */
  readonly survivors?: string;
  // By `sandbox`: `processes`.
}

/** The layers that add a part. */
const addedBy: Partial<Record<keyof LayerContext, string>> = {
  budget: 'budget',
  attempt: 'retry',
  deadline: 'retry',
  secrets: 'retry',
  hidden: 'retry',
  records: 'retry',
  toolState: 'retry',
  ask: 'retry',
  wait: 'retry',
  answered: 'retry',
  inputs: 'retry',
  workspace: 'retry',
  files: 'retry',
  agent: 'record',
  processes: 'sandbox',
};

/** Parts that are not there yet. */
const missing: object = Object.defineProperties(
  {},
  Object.fromEntries(
    Object.entries(addedBy).map(([part, layer]) => [
      part,
      {
        get() {
          throw new Error(
            `Internal: context.${part} is added by the layer "${layer}", and there only further in`,
          );
        },
      },
    ]),
  ),
);

/** A context with these parts. */
export function layerContext(parts: Partial<LayerContext>): LayerContext {
  const all = { ...parts, with: (more: Partial<LayerContext>) => layerContext({ ...parts, ...more }) };
  return Object.create(missing, Object.getOwnPropertyDescriptors(all)) as LayerContext;
}

/** The layers, outermost first, around what is innermost. */
export const surrounded = (layers: readonly Layer[], innermost: Execute): Execute =>
  layers.reduceRight((next, layer) => layer(next), innermost);

/** A limit of the run or of the node is reached: the run ends. */
export class LimitReached extends Error {
  constructor(readonly hit: LimitHit) {
    super(hit.reason);
  }
}
