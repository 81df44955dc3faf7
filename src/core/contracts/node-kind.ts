/** The contract of node types: each is a file with its shapes, its attributes and its run function. */
import type { Usage } from '../budget/usage.ts';
import type { CodeDescription, Diagnostic } from '../diagnostic.ts';
import type { NodeConversation } from '../fidelity.ts';
import type { Graph, Node } from '../graph.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Context, Outcome } from '../outcome.ts';
import type { PossibleOutcome } from '../possible-outcomes.ts';
import type { PreambleKind } from '../preamble.ts';
import type { SteeringNote } from '../records/note.ts';
import type { QuestionDraft, TakenAnswer } from '../records/question.ts';
import type { SessionLine } from '../records/session.ts';
import type { ReferenceMode } from '../references.ts';
import type { AttributeTable, Settings } from '../settings/types.ts';
import type { AgentAction, AgentProgram, AgentReport, AgentTask, AgentThread, CallWait } from './agent.ts';
import type { Clock } from './clock.ts';
import type { Exit } from './process.ts';
import type { HomeAndTmp, SandboxLevel } from './sandbox.ts';

/** A program started for a node; the engine provides cwd, environment, marker, masks, timeout and cancellation. */
export type StageProgram = {
  readonly argv: readonly [string, ...string[]];
  /** Relative to the workspace; default the workspace. */
  readonly cwd?: string;
  /** Added to the node's environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** The words of a step of our own, if the program is exactly that: the engine may carry it out in its own process. */
  readonly own?: readonly string[] | undefined;
  /** A command that checks the product: the run's limit for one command applies, and it must not leave caches. */
  readonly check?: boolean;
  /** Artifact names in the node's folder. */
  readonly stdoutName: string;
  readonly stderrName: string;
};

/** The node's directory of artifacts. */
export interface NodeFiles {
  /** Absolute. */
  readonly path: string;
  /** Writes an artifact, secrets masked. */
  keep(name: string, content: string): Promise<void>;
  /** Masks secrets in a file that a program wrote, of any size. */
  mask(name: string): Promise<void>;
  /** Reads a file as UTF-8; undefined if it does not exist. At most `limit` bytes are read, from the start or (with `tail`)
   *  from the end. */
  read(name: string, limit: number, tail?: 'tail'): Promise<string | undefined>;
  /** Whether the last program left something other than a regular file under that name. */
  wasNoFile(name: string): boolean;
}

/** The run's workspace; paths are relative to it and stay inside. */
export interface WorkspaceFiles {
  /** Absolute. */
  readonly path: string;
  /** Where programs in a sandbox see it, if not there: in a branch. */
  readonly seenAt?: string;
  /** Reads a file as UTF-8, at most `limit` bytes; undefined if it does not exist. */
  read(path: string, limit: number): Promise<string | undefined>;
  /** Returns why the file cannot be written, undefined on success. */
  write(path: string, content: string): Promise<string | undefined>;
  /** `file`, `dir` or undefined, following links inside the workspace. */
  stat(path: string): Promise<'file' | 'dir' | undefined>;
}

/** What the run has for the node: the run's context, and the texts that were read at its start. */
export interface NodeInputs {
  /** The outcome of the previous node. */
  readonly previous: Outcome | undefined;
  /** The run's context. */
  readonly values: Context;
  /** The kind of node that set a value last. */
  origin(key: string): 'engine' | 'agent' | 'tool' | undefined;
  /** What the node's agent is given of the run besides its prompt. */
  readonly conversation: NodeConversation;
  /** What of the run so far is put before the agent's prompt. */
  preamble(kind: PreambleKind): Promise<string>;
  /** What the agent's prompt says of branches that have met in this node, or since the latest agent; empty without such branches. */
  joined(): Promise<string>;
  /** Notes of people for the prompt of this execution's agent, in their order; no other execution gets them. */
  notes(): Promise<readonly SteeringNote[]>;
  /** Keys that only the engine sets in this graph, besides those of every graph. */
  readonly latestKeys: ReadonlySet<string>;
  /** Expands `$goal`, `${var.x}`, `${ctx.key}`, `${node.id.key}` and the like once. In `shell` mode values become quoted words; a
   *  `prompt` may name values as `$x` too. */
  expand(text: string, mode: ReferenceMode): { readonly text: string } | { readonly unknown: string };
  /** A prompt given as `prompt="@file"`; undefined if there is none. */
  prompt(reference: string): string | undefined;
  /** A schema by registered name or `@file`; undefined if there is none with that name. */
  schema(reference: string): Promise<{ readonly name: string; readonly schema: JsonObject } | undefined>;
}

/** Starts programs, in the node's sandbox and with its environment. */
export interface NodeProcesses {
  run(program: StageProgram): Promise<Exit>;
  /** Runs the program of this node's agent; rejects only if the run's own folders fail. `stop` ends it like the node's
   *  signal. */
  runAgent(program: AgentProgram, stop?: AbortSignal): Promise<Exit>;
  /** The sandbox of this node's agent, whether the agent's own sandbox works inside it, the node's private folder, and where the agent
   *  sees the workspace, if not at its path. */
  agentSandbox(): Promise<{
    readonly rung: SandboxLevel;
    readonly nests: boolean;
    readonly scratch: string;
    readonly workspace?: string;
  }>;
  readonly homeAndTmp: HomeAndTmp;
  /** Environment that makes `git` use the run's history; empty without one. */
  readonly historyEnv: Readonly<Record<string, string>>;
}

export type ChangedPaths = ReadonlyMap<string, 'created' | 'modified' | 'deleted'>;

/** The agent of a node, within the cost and token limits. */
export interface NodeAgent {
  readonly name: string;
  /** Number of this call, 1-based over the run. */
  readonly call: number;
  /** A conversation as the last committed execution in it left it, or one that begins anew; or why this node may not continue it. */
  thread(key: string, begins: boolean): AgentThread | { readonly refused: string };
  /** If a limit forbids the call, the report is `failed`. `stop` ends it like the node's signal. */
  ask(task: AgentTask, stop: AbortSignal): Promise<AgentReport>;
  /** Whether anything in the workspace has changed since that time and since the last call. */
  changedSince(at: Date): Promise<boolean>;
  /** Records an action. */
  acted(action: AgentAction): void;
  /** Records a wait within a model call. */
  waits(wait: CallWait): void;
  /** Text of an answer as it streams in, for the live view. */
  stream(text: string, channel: 'answer' | 'reasoning'): void;
  /** A step of the session, for the view that grows. */
  session(line: SessionLine): void;
  /** Records the usage of a model call. */
  spent(usage: Usage): void;
}

/** Everything that a node may use: nodes access files, processes, agents and the clock only through this. */
export interface NodeContext {
  readonly graph: Graph;
  readonly node: Node;
  /** Absolute path of the run directory. */
  readonly runDir: string;
  readonly clock: Clock;
  /** Fires when the run is interrupted, not at the timeout. A node that it ends answers `cancelled`, with `broke`. */
  readonly signal: AbortSignal;
  readonly inputs: NodeInputs;
  readonly workspace: WorkspaceFiles;
  readonly files: NodeFiles;
  readonly processes: NodeProcesses;
  /** Undefined where none is configured. */
  readonly agent: NodeAgent | undefined;
  readonly attempt: {
    readonly number: number;
    /** Why the attempt before is repeated; undefined for the first. */
    readonly repeats?: string | undefined;
    /** Milliseconds; `explicit` if the node itself sets `timeout`. Programs are ended when they have passed; a node that waits by
     *  itself uses `clock.sleep(Math.min(…, timeout.ms), signal)` and fails with the class `timeout`. */
    readonly timeout: { readonly ms: number; readonly explicit: boolean };
  };
  /** The state of the run's tools. */
  readonly toolState: {
    /** The value that was committed last; undefined before the first. */
    readonly last: JsonObject | undefined;
    /** Sets the state that is committed with this attempt's outcome, if the attempt is the last one. */
    keep(state: JsonObject): void;
  };
  /** How the workspace before this execution differs from the one with which the run began, by path: what agents and tools have
   *  created, modified or deleted so far, folders that they created or deleted included. Computed at the first call. */
  changedInRun(): Promise<ChangedPaths>;
  /** Files, links and folders of the workspace before this execution. */
  pathsBefore(): Iterable<string>;
  readonly holdout: {
    /** Holdout paths that are hidden from this node. */
    readonly withheld: readonly string[];
    /** Whether the run's history contains them. */
    readonly inHistory: boolean;
    /** Workspace paths with scenario scripts, sealed or not. */
    readonly scenarios: readonly string[];
  };
  /** Asks a person, and answers what was answered. Without an answer the execution ends here: the run is suspended, and a resume
   *  executes the node again. */
  ask(question: QuestionDraft): Promise<TakenAnswer>;
  /** Waits until `ms` milliseconds after the execution began, also where it was interrupted and is resumed. For longer than
   *  `park_after` the execution ends here: the run is suspended until then, and a resume executes the node again. True once the
   *  time has passed, false where the signal or the attempt's timeout has ended the wait. */
  wait(ms: number): Promise<boolean>;
  log(level: 'debug' | 'info' | 'warn', message: string, fields?: Readonly<Record<string, Json>>): void;
}

/** Where an own node type comes from: a file of the project and its hash; null for one that a program has handed in. */
export type KindSource = { readonly path: string | null; readonly sha256: string | null };

export interface NodeKind<T extends AttributeTable = AttributeTable> {
  readonly type: string;
  /** What a node of this type does, in a sentence. */
  readonly does: string;
  readonly shapes: readonly string[];
  /** Ids of nodes that are of this kind without a shape or type (`start`, `exit`, `end`). */
  readonly ids: readonly string[];
  /** What other implementations call the type. */
  readonly aliases?: readonly string[];
  /** True: executions are snapshot, guarded, recorded and replayed. Retries apply to every kind. */
  readonly executable: boolean;
  readonly attributes: T;
  /** Of an own node type of a project. */
  readonly own?: KindSource;
  /** The outcomes that a node may have after its retries, the simplest first: findings about the possible paths of runs use them.
   *  Without it any outcome is possible, and none must have an edge. */
  outcomes?(node: Node, graph: Graph): readonly PossibleOutcome[];
  /** Findings in addition to attribute types, such as a missing attribute, and their codes. */
  readonly codes?: readonly CodeDescription[];
  check?(node: Node, graph: Graph): readonly Diagnostic[];
  /** Runs the node once. External failures are outcomes; an exception is an internal error. */
  run(settings: Settings<T>, context: NodeContext): Promise<Outcome>;
}

/** Declares a node kind; the attribute table types the settings of `run`. */
export const kind = <T extends AttributeTable>(k: NodeKind<T>): NodeKind => k as unknown as NodeKind;
