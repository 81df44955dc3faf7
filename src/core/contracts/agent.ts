/** Who does a codergen node's work: the contract every backend keeps. */
import type { Usage } from '../budget/usage.ts';
import type { Json, JsonObject } from '../json.ts';
import type { AgentOutcome, AnsweredBy, FailureClass, Park, WaitCause } from '../outcome.ts';
import type { NamedWord } from '../own-words.ts';
import type { SessionLine } from '../records/session.ts';
import type { NodeSettings } from '../settings/node.ts';
import type { Exit, OpenInput } from './process.ts';
import type { SandboxLevel } from './sandbox.ts';

/** A place outside the workspace. In a sandbox `empty` and `text` put an empty folder, or a file with this text, in its place
 *  for one execution, and `from` another folder. A later place lies over an earlier one. */
export type AgentPlace = {
  readonly path: string;
  readonly write: boolean;
  readonly empty?: true;
  readonly text?: string;
  readonly from?: string;
};

/** A program that does an agent's work. It gets of the machine only what is named here: the engine starts it in its
 *  own process group, ends all that it leaves behind, masks secrets in what it prints and keeps that as artifacts. */
export type AgentProgram = {
  /** Program and arguments; no shell in between. */
  readonly argv: readonly [string, ...string[]];
  /** Absolute. */
  readonly cwd: string;
  /** Variables added to the stage's environment, which has no secrets but those that `env_pass` names. */
  readonly env?: Readonly<Record<string, string>>;
  /** Names of secret variables that this program needs; of those that exist, only these pass. */
  readonly keys: readonly string[];
  /** Names of variables with addresses of its servers. They pass, also where they hold a password. */
  readonly servers?: readonly string[];
  /** Places outside the workspace that it needs: its configuration, its login. Absolute. */
  readonly home: readonly AgentPlace[];
  /** Whether it needs the network. */
  readonly network: boolean;
  /** What of the workspace it must not read; out of sight while it runs. */
  readonly unread?: ReadScope;
  /** Given on standard input, then end of file; without it standard input is `/dev/null`, never ours. */
  readonly stdin?: string;
  /** Instead of `stdin`, for a program that is talked to while it works: called once it has been started. */
  readonly talk?: (input: OpenInput) => void;
  /** Artifact names in the node's folder. Of a stream beyond 256 MiB head and tail are kept, with a note between. */
  readonly stdoutName: string;
  readonly stderrName: string;
  /** Masked text as it arrives; characters come whole, a line may come in pieces. */
  readonly onStdout?: (text: string) => void;
  readonly onStderr?: (text: string) => void;
  /** A file in the node's folder to which the program may add lines, and what takes its text as it comes, unmasked. */
  readonly grows?: { readonly name: string; readonly onText: (text: string) => void };
  /** Milliseconds it may take, within the node's own `timeout`; it replaces a timeout that the node does not say. */
  readonly timeoutMs?: number;
  /** Fires when its work is done: it is ended like by the task's signal, with an exit of the kind `cancelled`. */
  readonly enough?: AbortSignal;
};

/** Paths are relative to the workspace. */
export type ReadScope = {
  /** Files and folders that are hidden; those that are not there are passed over. */
  readonly hidden: readonly string[];
  /** When given, of the rest only these, what lies below them and the folders above them stay in sight. */
  readonly only?: readonly string[];
};

/** The conversation that a task continues, or begins. */
export type AgentThread = {
  readonly key: string;
  /** What this agent kept at the last committed execution of the thread; undefined where the conversation begins. */
  readonly before: string | undefined;
  /** Later nodes continue it: the prompt does not count on what was said before. */
  readonly begins?: true;
  /** It could not be continued, and the prompt says in short what is lost: a new one begins. */
  readonly lost?: true;
  /** Keeps the conversation with this task. The last call counts; it is committed with the execution, masked, unless the
   *  agent is stopped or reports a failure. `by`: the agent, where several could be asked. */
  keep(session: string, by?: string): void;
};

export type AgentTask = {
  readonly node: string;
  /** 1-based over the whole run, resumes included: the n-th call made for this node. */
  readonly call: number;
  /** The final text, as in `prompt.md`. */
  readonly prompt: string;
  /** The workspace, absolute. */
  readonly workspace: string;
  /** The node's artifact folder, absolute; a backend may leave files here. */
  readonly nodeDir: string;
  /** The node's settings, with those of its agent (`test.outcome`, `codex.path`, …). */
  readonly settings: Partial<NodeSettings>;
  /** The model that the node names, of several this attempt's. */
  readonly model?: string;
  /** A server that does not count its tokens may continue under a limit. */
  readonly uncounted?: true;
  /** Only for an agent that has `threads`. */
  readonly thread?: AgentThread;
  /** Asked of a single-turn model: the answer's JSON schema and its name. */
  readonly schema?: { readonly name: string; readonly schema: JsonObject };
  /** Edges test the outcome of the node: an answer that gives none is no success. */
  readonly tested?: true;
  /** Words besides the outcomes that edges name: an answer may be one of them. */
  readonly named?: readonly NamedWord[];
  /** Milliseconds, when the node says `timeout` itself: a hard limit. */
  readonly timeoutMs?: number;
  /** Milliseconds without a sign of life after which a call counts as hung; one that is still streaming continues. */
  readonly idleMs?: number;
  /** Milliseconds: a server that asks for a longer wait is reported at once, since the run parks. */
  readonly park_after?: number;
  /** Milliseconds that the run waits for a provider that is down, by repeating the task. An agent waits that long itself only
   *  where a repetition would lose what was paid for: turns of a session, an answer in the making. Without it, or with 0, it
   *  makes a few quick tries. */
  readonly outageMs?: number;
  /** A text with the values of its `${var.x}`, `${ctx.key}`, `${node.id.key}`; `unknown` names one that has none. */
  expand?(text: string): { readonly text: string } | { readonly unknown: string };
  /** Text as it arrives, for the live view; may be called never. */
  readonly onText?: (text: string, channel: 'answer' | 'reasoning') => void;
  /** Runs a program for this task to its end. Never rejects for what the program does. When the task's signal fires, or
   *  time is up, its whole group gets SIGTERM, SIGKILL 5 s later, and whatever carries the run's marker goes too. */
  run(program: AgentProgram): Promise<Exit>;
  /** Where `run` starts it: on which rung of confinement, and whether a sandbox of the program's own works there. `scratch` is a
   *  private folder that no program sees unless a place shows it: removed by a resume at the latest. */
  sandbox?(): Promise<{
    readonly rung: SandboxLevel;
    readonly nests: boolean;
    readonly scratch: string;
    /** Where the program sees the task's workspace, if not at its path. */
    readonly workspace?: string;
  }>;
  /** Writes an artifact into the node's folder, secrets masked. */
  keep(name: string, content: string): Promise<void>;
  /** A record for the log; the node's name is added. */
  log(level: 'debug' | 'info' | 'warn', message: string, fields?: Readonly<Record<string, Json>>): void;
  /** Something the agent did, for `events.jsonl`. */
  acted(action: AgentAction): void;
  /** A step of the session as it comes, for the view that grows with the attempt; artifacts have the session afterwards. */
  session?(line: SessionLine): void;
  /** The agent is about to wait before it repeats a request. */
  waits?(wait: CallWait): void;
  /** Asked by a backend that makes many calls, before each but the first: what the limits of run and node leave, with
   *  what this task has `used` so far and what the next call `sends` at least. `empty` is the reason why it may not be made, with
   *  `park` it suspends the run. Settles when both are recorded: a process that is killed during the call has counted it. */
  budget?(
    used: Usage | undefined,
    sends: number,
  ): Promise<
    | {
        readonly empty: string;
        readonly class?: FailureClass;
        readonly park?: Park;
        readonly model?: 'api';
      }
    | { readonly tokens: number | undefined }
  >;
  /** What this task is known to have used so far. */
  used?(usage: Usage): void;
  /** What went over the wire, for the record of the exchange; without keys. Programs are recorded by `run` itself. */
  record?(item: ExchangeItem): void;
};

/** One step of an exchange, as far as a backend records it. Everything in it is plain JSON. */
export type ExchangeItem =
  /** A request's body, and where it went. */
  | { readonly kind: 'request'; readonly to: string; readonly body: unknown }
  /** An event of a stream, as received. */
  | { readonly kind: 'event'; readonly event: unknown }
  /** An answer that came whole. */
  | { readonly kind: 'response'; readonly body: unknown }
  /** The request came to nothing. */
  | { readonly kind: 'trouble'; readonly reason: string; readonly status: number | null }
  /** A program was run; what it printed is in the artifacts. */
  | {
      readonly kind: 'program';
      readonly argv: readonly string[];
      readonly cwd: string;
      readonly stdin_sha256: string | null;
      readonly stdout: { readonly name: string; readonly sha256: string | null };
      readonly stderr: { readonly name: string; readonly sha256: string | null };
      readonly exit: unknown;
    };

/** What an agent program did: a command it ran, files it changed, a tool it called. */
export type AgentAction = {
  readonly action: 'command' | 'file_change' | 'tool_call' | 'web_search';
  /** The command, the paths, the tool's name, the query. */
  readonly detail: string;
  /** The program's own word for how it went: `completed`, `failed`. */
  readonly status: string;
  /** Distinguishes two such calls beyond `detail`, to notice one that is repeated. Not recorded. */
  readonly identity?: string;
};

/** A wait within a model call. */
export type CallWait = {
  /** Number of the try that follows; 1 where none was made, since the account is on hold. */
  readonly attempt: number;
  /** The last try that there may be; undefined where only time limits them. */
  readonly of?: number;
  readonly cause: WaitCause;
  readonly reason: string;
  readonly delayMs: number;
  /** When the quota is available again, in milliseconds since 1970, where the provider names it. */
  readonly resetMs?: number;
};

/** Variables with the proxy of a program that uses the network; with a password in them they are secrets. */
export const proxyVariables = [
  'HTTPS_PROXY',
  'https_proxy',
  'HTTP_PROXY',
  'http_proxy',
  'ALL_PROXY',
  'all_proxy',
] as const;

export const agentNames = [
  'openai',
  'codex',
  'claude',
  'command',
  'acp',
  'scripted',
  'fake',
  'stub',
] as const;
export type AgentName = (typeof agentNames)[number];

/** Agents that are programs of their makers, or of the user; what each leaves in the folder of a node begins with its name. */
export const agentPrograms = ['codex', 'claude', 'command', 'acp'] as const satisfies readonly AgentName[];
export type AgentProgramName = (typeof agentPrograms)[number];

/** Tools that a model may be given where an agent offers them. */
export const toolNames = ['read', 'list', 'search', 'write', 'patch', 'run'] as const;

/** What every report may have. */
type AttributeNotes = {
  /** What the call used, as far as the backend reports it. `cost_usd` where the backend itself knows it: that wins over our
   *  table of prices. */
  readonly usage?: Usage;
  /** No model worked for it: without `usage` the call has cost nothing. */
  readonly unbilled?: true;
  /** Of agents that were asked before this one and could not answer, as far as they reported it. */
  readonly spentBefore?: readonly Usage[];
  /** Who answered, where there was a choice. */
  readonly by?: AnsweredBy;
  /** What it wanted to do and its permissions did not allow, in words. */
  readonly denied?: readonly string[];
  /** The model's reasoning, as far as it reports it, for `reasoning.md`. */
  readonly reasoning?: string;
  /** Evidence for the node's folder, under plain file names that no node uses itself; without the agent's key. */
  readonly artifacts?: readonly { readonly name: string; readonly content: string }[];
};

export type AgentReport =
  /** The agent worked to its end and says how it went. `response` is its own text, for `response.md`. */
  | ({
      readonly kind: 'finished';
      readonly outcome: AgentOutcome;
      readonly label: string;
      /** The label is the word that it answered as its outcome. */
      readonly ownWord?: true;
      readonly suggested: readonly string[];
      readonly notes: string;
      readonly reason: string;
      readonly updates: JsonObject;
      /** Stored in the context under the node's plan key. */
      readonly verificationPlan?: Json;
      readonly response: string | undefined;
    } & AttributeNotes)
  /** A single-turn model answered; whether the answer is any good is the next node's to judge. */
  | ({
      readonly kind: 'answered';
      readonly text: string;
      /** Set by the engine: variables whose secret values the text holds; empty where they are not known. */
      readonly secrets?: readonly string[];
    } & AttributeNotes)
  /** It broke: crash, no valid answer, no network, no key, time. `model`: the provider, or (of single-turn backends) the
   *  answer is the cause.
   *  `response` is what of an answer had arrived. */
  | ({
      readonly kind: 'failed';
      readonly class: FailureClass;
      readonly reason: string;
      readonly model?: 'api' | 'output';
      readonly retryAfterMs?: number;
      /** The agent is not to be had here: no program, no key. */
      readonly missing?: true;
      /** Waiting (quota), a key (auth) or a payment (billing) solves it: the run is suspended, not failed. */
      readonly park?: Park;
      readonly response?: string;
      /** The conversation of the task's thread cannot be continued, and no model was asked: the node asks again, with a summary of
       *  it in the prompt. */
      readonly threadLost?: true;
    } & AttributeNotes)
  /** Stopped by the signal. `usage`: what is known to have been spent until then; the rest is for a list of agents: which
   *  of them was at work. */
  | ({ readonly kind: 'cancelled' } & Pick<AttributeNotes, 'usage' | 'by' | 'spentBefore' | 'denied'>);

/** The account at a provider whose quota a call uses. */
export type AgentAccount = {
  /** For people; without a password. */
  readonly endpoint: string;
  /** Empty where the agent chooses it. */
  readonly model: string;
  /** A hash of the key or the login. */
  readonly holder: string;
};

/** Something that can carry out a task in a directory.
 *  `work` rejects only where the task's `run` and `keep` do, for the disk: whatever else goes wrong is a report. When `signal`
 *  fires it settles as `cancelled`, leaving no process and no open connection behind. It never reports success for work
 *  that nobody did. */
export interface Agent {
  readonly name: string;
  /** One line for people: what answers, e.g. `openai gpt-5.2 at https://api.openai.com/v1`. */
  readonly describe: string;
  /** No model ever works for it, so that its calls need no limit. A call of any other agent that reports no `usage` costs an
   *  unknown sum. */
  readonly free?: true;
  /** Its reports have their cost, so that its models need no price. */
  readonly tellsCost?: true;
  /** Its program makes the calls itself: of one that was interrupted, usage is known in part at best. */
  readonly unseen?: true;
  /** It can continue a conversation: `AgentTask.thread`. */
  readonly threads?: true;
  /** Whether it answers nodes with these settings from the prompt alone: it sees and changes no file, runs no program, and asks
   *  a model anew for each call. False where it is missing. */
  answersAlone?(settings: Partial<NodeSettings>): boolean;
  /** Whether it has prepared answers for the branches of a fan-out that ask with this node, as a recording of such a run has. */
  preparedFor?(node: string): boolean;
  /** A list of agents: the same list with each of its agents as `other` makes it. */
  each?(other: (agent: Agent) => Agent): Agent;
  /** The model that would answer, as far as that is known before the call; without it the call has no price yet. */
  modelFor?(task: Pick<AgentTask, 'node' | 'call' | 'model' | 'settings' | 'workspace'>): string | undefined;
  /** The account that the task would use; without it, or undefined, the agent has none that other runs could know. */
  accountFor?(
    task: Pick<AgentTask, 'node' | 'call' | 'model' | 'settings' | 'workspace'>,
  ): AgentAccount | undefined;
  /** The task as the agent can work at it: without a model of another provider. Called once before `work`. */
  serving?(task: AgentTask): AgentTask;
  work(task: AgentTask, signal: AbortSignal): Promise<AgentReport>;
}

export type FailedReport = Extract<AgentReport, { kind: 'failed' }>;
