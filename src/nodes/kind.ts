/** What a node type is: a file that says its shapes, its attributes and what running it means. */
import type { Agent, AgentAction, AgentProgram, AgentReport, AgentTask, Usage } from '../agents/agent.ts';
import type { AttributeTable, AttributeValues } from '../model/attribute.ts';
import {
  atLeastTwo,
  bytes,
  count,
  duration,
  flag,
  number,
  outsidePaths,
  paths,
  text,
  variableNames,
  word,
} from '../model/attribute.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { Graph, Node } from '../model/graph.ts';
import type { Json, JsonObject } from '../model/json.ts';
import type { Context, Outcome } from '../model/outcome.ts';
import type { Clock } from '../system/clock.ts';
import type { Rung } from '../system/sandbox/confinement.ts';
import type { Exit } from '../system/spawn.ts';

/** A program started for a stage: cwd, environment, marker, masks, timeout and cancellation are the engine's. */
export type StageProgram = {
  readonly argv: readonly [string, ...string[]];
  /** Relative to the workspace; default the workspace. */
  readonly cwd?: string;
  /** Added to the stage's environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** A command that checks the product: the run's limit for one command holds, and it leaves no caches behind. */
  readonly check?: boolean;
  /** Artifact names in the node's folder. */
  readonly stdoutName: string;
  readonly stderrName: string;
};

/** Everything a node may touch. A node reaches the world through this and nothing else. */
export interface Site {
  readonly graph: Graph;
  readonly node: Node;
  readonly runId: string;
  /** Absolute paths. */
  readonly runDir: string;
  readonly workspace: string;
  readonly nodeDir: string;
  readonly visit: number;
  readonly attempt: number;
  /** Retries of this node so far in the run. */
  readonly retries: number;
  /** The outcome of the stage before this one. */
  readonly previous: Outcome | undefined;
  readonly context: Context;
  /** Who set a context key last. */
  origin(key: string): 'engine' | 'agent' | 'tool' | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The agent for this node, with the number of this call (1-based over the run). */
  readonly agent: { readonly agent: Agent; readonly call: number } | undefined;
  /** Has that agent work, within the limits on money and tokens; a limit that forbids it is a failed report.
   *  `stop` ends it as the stage's own signal does. */
  ask(task: AgentTask, stop: AbortSignal): Promise<AgentReport>;
  /** What makes `git` see the run's own history; empty when the run has none. */
  readonly historyEnv: Readonly<Record<string, string>>;
  /** Sealed workspace paths that this stage does not see, and whether that history holds them. */
  readonly withheld: { readonly paths: readonly string[]; readonly inHistory: boolean };
  /** Workspace paths that hold scenario scripts, sealed or not. */
  readonly scenarios: readonly string[];
  /** Milliseconds this stage may take; `explicit` when the node itself says `timeout`. */
  readonly timeout: { readonly ms: number; readonly explicit: boolean };
  run(program: StageProgram): Promise<Exit>;
  /** Runs the program of this node's agent; rejects only when the run's own folders fail. `stop` ends it as the stage's
   *  own signal does. */
  runAgent(program: AgentProgram, stop?: AbortSignal): Promise<Exit>;
  /** Where this node's agent runs: on which rung, and whether a sandbox of its own works there. */
  agentSandbox(): Promise<{ readonly rung: Rung; readonly nests: boolean }>;
  /** Whether anything in the workspace has changed since that time, and since it was asked before. */
  changedSince(at: Date): Promise<boolean>;
  /** Something that the agent did, for the journal. */
  acted(action: AgentAction): void;
  /** Writes an artifact into the node's folder, secrets masked. */
  keep(name: string, content: string): Promise<void>;
  /** Masks secrets in a file of the node's folder that a program has written there, whatever its size. */
  maskKept(name: string): Promise<void>;
  /** Reads a file of the node's folder or of the workspace as UTF-8; undefined when it is not there. At most `limit`
   *  bytes are read, from the beginning or (with `tail`) from the end. */
  readNodeFile(name: string, limit: number, tail?: 'tail'): Promise<string | undefined>;
  /** Whether the last program has left something that is no plain file at that name in the node's folder. */
  wasNoFile(name: string): boolean;
  readWorkspaceFile(path: string, limit: number): Promise<string | undefined>;
  /** Answers why the file cannot be there, where something is in its way. */
  writeWorkspaceFile(path: string, content: string): Promise<string | undefined>;
  /** `file`, `dir` or undefined, links followed as long as they stay in the workspace. */
  statWorkspace(path: string): Promise<'file' | 'dir' | undefined>;
  /** Expands `$goal`, `${var.x}`, `${ctx.key}`, `${node.id.key}` once. In `shell` mode values become quoted words. */
  expand(text: string, mode: 'plain' | 'shell'): { readonly text: string } | { readonly unknown: string };
  /** A prompt given as `prompt="@file"`, frozen at the start of the run; undefined when there is none. */
  frozenPrompt(reference: string): string | undefined;
  /** A schema by registered name or `@file`, frozen at the start; undefined when there is none of that name. */
  schema(reference: string): Promise<{ readonly name: string; readonly schema: JsonObject } | undefined>;
  log(level: 'debug' | 'info' | 'warn', message: string, fields?: Readonly<Record<string, Json>>): void;
  /** Text of an answer as it streams in, for the live view. */
  stream(text: string, channel: 'answer' | 'reasoning'): void;
  /** What a model call cost, for the records. */
  spent(usage: Usage): void;
}

export interface NodeKind<T extends AttributeTable = AttributeTable> {
  readonly type: string;
  readonly shapes: readonly string[];
  /** Ids that make a node of this kind without a shape or type (`start`, `exit`, `end`). */
  readonly ids: readonly string[];
  /** A kind that starts programs or agents: it is snapshotted, guarded, timed and retried. */
  readonly executable: boolean;
  readonly attributes: T;
  /** Findings beyond attribute types, e.g. a required attribute that is missing. */
  check?(node: Node, attributes: AttributeValues<T>, graph: Graph): readonly Diagnostic[];
  /** Runs the node once. Never throws for what the world does; a throw is an internal error. */
  run(attributes: AttributeValues<T>, site: Site): Promise<Outcome>;
}

/** Declares a node kind, typing `run`'s attributes by its table. */
export const kind = <T extends AttributeTable>(k: NodeKind<T>): NodeKind => k as unknown as NodeKind;

/** Attributes that any node may carry. */
export const commonAttributes = {
  label: text(),
  shape: text(),
  type: text(),
  class: text(),
  comment: text(),
  goal_gate: flag(),
  retry_target: text(),
  fallback_retry_target: text(),
  max_visits: count(1),
} as const;

/** Attributes of every executable node. */
export const executableAttributes = {
  timeout: duration(),
  max_retries: count(),
  retry_delay: duration(),
  retry_backoff: number(1),
  retry_max_delay: duration(),
  retry_on: word('retry', 'fail'),
  allow_partial: flag(),
  allowed_write_paths: paths(),
  requires_tool_success: flag(),
  required_tool_node: text(),
  max_wall: duration(),
  max_cost_usd: number(0),
  max_tokens: count(),
  env_pass: variableNames(),
  access: word('run', 'run:ro'),
  sees_holdout: flag(),
  sandbox: word('auto', 'bwrap', 'none'),
  sandbox_bind: outsidePaths(),
  network: word('on', 'off'),
  max_memory: bytes(16 * 1024 * 1024),
  max_processes: count(1),
  max_file_size: bytes(1),
} as const;

/** Attributes of the kinds that judge the product by running commands. */
export const judgingAttributes = {
  judge: flag(),
  rerun: flag(),
  breaker: atLeastTwo(),
} as const;
