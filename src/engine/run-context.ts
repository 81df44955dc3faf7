/** What a run is made of: its settings, state, limits and journals. Types only. */
import type { AutoAnswers } from '../core/auto-answer.ts';
import type { Usage } from '../core/budget/usage.ts';
import type { Agent } from '../core/contracts/agent.ts';
import type { Clock, Every } from '../core/contracts/clock.ts';
import type { NodeContext, NodeKind, WorkspaceFiles } from '../core/contracts/node-kind.ts';
import type { Spawn } from '../core/contracts/process.ts';
import type { Log, Watcher } from '../core/contracts/watcher.ts';
import type { NextExecution, NodeCounts, RunEnding } from '../core/decision.ts';
import type { Graph, Node } from '../core/graph.ts';
import type { JsonObject } from '../core/json.ts';
import type { Context, Outcome, SuspendedRun } from '../core/outcome.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import type { SteeringNote } from '../core/records/note.ts';
import type { Question, TakenAnswer } from '../core/records/question.ts';
import type { StopRequest } from '../core/records/stop-request.ts';
import type { RanCommand, ThreadRecord } from '../core/records/visit.ts';
import type { Caps } from '../core/settings/limits.ts';
import type { Holds } from '../fleet/holds.ts';
import type { LeakGuard } from '../holdout/leak-guard.ts';
import type { SealedHoldout } from '../holdout/mount.ts';
import type { OutOfMemory } from '../platform/process/spawn-error.ts';
import type { Replay } from '../run/answers.ts';
import type { BackgroundFlush } from '../run/background.ts';
import type { ExchangeLog } from '../run/exchanges.ts';
import type { RunHistory, RunJournal } from '../run/run-journal.ts';
import type { ViewFile } from '../run/view-file.ts';
import type { Snapshot, Snapshots } from '../workspace/snapshot.ts';
import type { CallGate } from './call-gate.ts';
import type { RunConfinement } from './confinement.ts';
import type { CostLedger } from './cost-ledger.ts';
import type { Execute, Executed } from './layers/layer.ts';
import type { OwnSteps } from './own-step.ts';

/** A run that is ready to execute. */
export type Run = Pick<Texts, 'variables' | 'prompts' | 'inputFiles'> & {
  readonly graph: Graph;
  readonly runId: string;
  readonly runDir: string;
  /** In a branch the folder in which it works, and its snapshots. */
  readonly workspace: string;
  /** The files of the workspace, in a branch that has no folder. */
  readonly files?: WorkspaceFiles;
  /** The innermost branch in which nodes are executed; undefined outside of branches. */
  readonly branch?: string;
  /** Name of the snapshot with which the run began. */
  readonly start: string;
  /** Commands of the project that make its workspace ready. */
  readonly setup?: { readonly path: string; readonly commands: readonly string[] } | undefined;
  readonly clock: Clock;
  readonly spawn: Spawn;
  /** Carries out steps of our own pipelines in this process; without it they are programs like all others. */
  readonly ownSteps?: OwnSteps | undefined;
  /** The engine's own environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Names of secrets that every tool of the run gets. */
  readonly envPass: readonly string[];
  /** Names of variables that are secrets whatever they are called, besides those that the graph names. */
  readonly secrets?: readonly string[] | undefined;
  /** Markers in `stage.json`, and (`FACTORY_RUN_MARKER`) in the environment of processes. */
  readonly marker: string;
  readonly processMarker: string;
  readonly epoch: number;
  /** The folder of `factory` itself, first on a tool's PATH, and the Node.js that starts it. */
  readonly factoryBin: string;
  readonly node: string;
  /** Milliseconds for one command of a verification, within the node's timeout. */
  readonly command_timeout?: number | undefined;
  readonly schema: NodeContext['inputs']['schema'];
  readonly agentFor: (node: Node) => Agent | undefined;
  /** Nodes of a graph, as they are written there, that ask for an answer to the text of a file and to nothing else. */
  readonly promptOnly?: (graph: Graph) => readonly string[];
  readonly historyEnv: Readonly<Record<string, string>>;
  /** Without it, programs are confined only by process group and limits. */
  readonly confinement?: RunConfinement;
  readonly watcher: Watcher;
  /** Looks at the output of running programs; without it they are not looked at. */
  readonly every?: Every;
  readonly log: Log;
  /** Counts processes that the system killed for lack of memory. */
  readonly outOfMemory?: OutOfMemory;
  /** The record of exchanges with agents; undefined in a run without agents. */
  readonly exchanges?: ExchangeLog | undefined;
  /** What the journal says of the run up to its last line, and a text without the names of this run and of those that it
   *  continues. */
  readonly past: {
    history(): Pick<RunHistory, 'checkpoint' | 'records' | 'exchanges' | 'lines'>;
    withoutNames(text: string): string;
  };
  /** The holdout, and the guard against its leaks; undefined without one. */
  readonly sealed?: SealedHoldout | undefined;
  readonly leaks?: LeakGuard | undefined;
  /** Answers at human gates in place of a person. */
  readonly autoAnswers?: AutoAnswers | undefined;
  /** Answers in place of agents while this run replays another one. */
  readonly replay?: Replay | undefined;
  readonly kinds: readonly NodeKind[];
  /** Executes a node: the layers, around its kind. */
  readonly execute: Execute;
  readonly snapshots: Snapshots;
  /** Owned by the loop: its maps by node are changed in place. */
  readonly state: RunState;
  readonly snapshot: Snapshot;
  readonly caps: Caps;
  readonly costs: CostLedger;
  /** Which accounts take no calls until when; undefined where no other run is to know. */
  readonly holds?: Holds | undefined;
  /** Asked before each call of a model. */
  readonly gates?: readonly CallGate[];
  readonly events: ViewFile;
  readonly trace: ViewFile;
  /** Rejects if another process has taken over the run. */
  readonly journal: Pick<RunJournal, 'note' | 'commit' | 'mark' | 'viewed'>;
  /** Flushes the files of executions within a second or so, while the run continues. */
  readonly flusher?: Pick<BackgroundFlush, 'add' | 'now'>;
  readonly signal: AbortSignal;
  /** A request to begin no more executions. */
  readonly stopAsked?: (() => StopRequest | undefined) | undefined;
  /** In a branch: whether a limit has ended the run elsewhere. Then no execution begins any more. */
  readonly limitReached?: () => boolean;
  /** Why the run, or the branch, was suspended before this resume; undefined from its second execution on. */
  readonly parkedBefore?: SuspendedRun | undefined;
  /** A person resumes the run before its time. */
  readonly early?: boolean | undefined;
  /** This process has waited out that suspension. */
  readonly waited?: boolean | undefined;
  /** Called before the run is recorded as completed: a reason fails it. */
  readonly audit?: (() => Promise<string | undefined>) | undefined;
  /** Test only: the node after whose checkpoint the run stops. */
  readonly stopAfter: string | undefined;
};

/** An execution whose start is recorded. */
export type Execution = NextExecution & {
  readonly nodeDir: string;
  /** Fingerprint of the folder of earlier executions. */
  readonly earlierVisits: string;
  /** Its start on the monotonic clock. */
  readonly began: number;
  /** The run's context before it. */
  readonly contextBefore: RunState['context'];
};

/** What the agent of an attempt has kept of its conversation, as masked text. */
export type KeptThread = Omit<ThreadRecord, 'session'> & { readonly session: string };

/** What an end means for branches, as in `RunEnding`. */
export type EndInBranches = Pick<RunEnding, 'ofBranch' | 'orderly'>;

/** How the attempts at an execution ended. */
export type ExecutionEnd =
  | {
      readonly kind: 'ended';
      readonly outcome: Outcome;
      readonly context: Context;
      readonly counts: NodeCounts;
      readonly snapshot: Snapshot;
      readonly usage: Usage | undefined;
      /** Programs of its last attempt. */
      readonly commands: readonly RanCommand[];
      /** The state of the run's tools, if it changed. */
      readonly toolState?: JsonObject | undefined;
      /** What its agent kept of its conversation. */
      readonly thread?: KeptThread | undefined;
      /** Of a human gate. */
      readonly answer?: TakenAnswer | undefined;
      /** As the layers say it. */
      readonly joined?: Executed['joined'];
      readonly opens?: Executed['opens'];
      /** Notes of people in the prompts of its agent. */
      readonly steered?: readonly SteeringNote[];
      /** Number of the replayed record that answered instead. */
      readonly replayed?: number;
      /** As the layer `setup` says it. */
      readonly setup?: Executed['setup'];
    }
  | { readonly kind: 'interrupted' }
  /** It asks a person who has not answered yet. */
  | { readonly kind: 'asks'; readonly question: Question }
  /** It waits for longer than the run stays awake. */
  | { readonly kind: 'waits'; readonly parked: SuspendedRun }
  /** The run cannot continue: a limit was reached, the workspace cannot be recorded, or a holdout leaked. */
  | ({ readonly kind: 'stopped'; readonly reason: string; readonly disk?: boolean } & EndInBranches);

export type Texts = {
  readonly variables: Readonly<Record<string, string>>;
  readonly prompts: Readonly<Record<string, string>>;
  readonly schemas: Readonly<Record<string, string>>;
  /** Paths of file variables in the workspace. */
  readonly inputFiles: readonly string[];
};
