/** Records what a node and its agent exchange in one attempt. */
import { join } from 'node:path';
import { withModels } from '../core/agent-words.ts';
import type {
  Agent,
  AgentAction,
  AgentProgram,
  AgentReport,
  AgentTask,
  ExchangeItem,
} from '../core/contracts/agent.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { Exit } from '../core/contracts/process.ts';
import type { Node } from '../core/graph.ts';
import { isObject, type Json } from '../core/json.ts';
import { maskedValue } from '../core/policy/mask.ts';
import type { Exchange, FileChange } from '../core/records/exchange.ts';
import type { ExchangeFacts } from '../core/records/journal.ts';
import { sha256 } from '../core/sha256.ts';
import { beforeWrite } from '../platform/files/fence.ts';
import { readSome } from '../platform/files/read.ts';
import { diff } from '../workspace/diff.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import type { ExchangeLog } from './exchanges.ts';

/** Characters that the items of one exchange may have, and bytes of a program's output that are kept with it. */
const mostItems = 32 * 1024 * 1024;
const mostOutput = 8 * 1024 * 1024;

/** What no snapshot has of an attempt: workspace paths hidden from its agent, files that it made there, and holdout paths that
 *  it wrote to; all of that is undone. */
export type Hidden = { readonly paths: string[]; readonly made: string[]; readonly sealed: string[] };

export type RecorderSetting = {
  /** Undefined where nothing is recorded. */
  readonly log: ExchangeLog | undefined;
  readonly clock: Clock;
  readonly node: Node;
  readonly nodeDir: string;
  readonly visit: number;
  readonly attempt: number;
  readonly signal: AbortSignal;
  /** Masks the secrets known by now. */
  readonly mask: (text: string) => string;
  readonly hidden: Hidden;
};

/** The record of one attempt; `save` writes it, once the workspace has a snapshot. */
export interface Recorder {
  /** The same agent, with its calls recorded. */
  listening(agent: Agent): Agent;
  /** Records a program of the agent that has ended. */
  program(program: AgentProgram, exit: Exit): Promise<void>;
  /** Records the number of the exchange that answered in place of an agent. */
  replayed(line: number): void;
  /** Writes the exchange, if there was one. `around` is undefined where the workspace could not be recorded. */
  save(around: { readonly before: Snapshot; readonly after: Snapshot } | undefined): Promise<void>;
}

type AgentCall = { readonly task: AgentTask; readonly agent: Agent; readonly began: number };

export const recorder = (setting: RecorderSetting): Recorder => new AttemptRecorder(setting);

class AttemptRecorder implements Recorder {
  readonly #setting: RecorderSetting;
  readonly #items: ExchangeItem[] = [];
  readonly #actions: AgentAction[] = [];
  readonly #artifacts = new Map<string, string>();
  #size = 0;
  #dropped = 0;
  #call: AgentCall | undefined;
  #report: AgentReport | undefined;
  #stopped: AgentReport | undefined;
  #elapsed = 0;
  #line: number | undefined;

  constructor(setting: RecorderSetting) {
    this.#setting = setting;
  }

  listening(agent: Agent): Agent {
    return {
      name: agent.name,
      describe: agent.describe,
      work: (task, signal) => this.#work(agent, task, signal),
    };
  }

  replayed(line: number): void {
    this.#line = line;
  }

  async program(program: AgentProgram, exit: Exit): Promise<void> {
    const { log, nodeDir, mask } = this.#setting;
    if (log === undefined) return;
    const output = async (name: string) => {
      // Of a very long one the end, which later prompts quote.
      const text = await readSome(join(nodeDir, name), mostOutput, 'tail');
      if (text !== undefined) this.#artifacts.set(name, text);
      return text === undefined ? null : sha256(text);
    };
    this.#note({
      kind: 'program',
      argv: [...program.argv],
      cwd: program.cwd,
      stdin_sha256: program.stdin === undefined ? null : sha256(mask(program.stdin)),
      stdout: { name: program.stdoutName, sha256: await output(program.stdoutName) },
      stderr: { name: program.stderrName, sha256: await output(program.stderrName) },
      exit: { ...exit },
    });
  }

  async save(around: { readonly before: Snapshot; readonly after: Snapshot } | undefined): Promise<void> {
    const { log } = this.#setting;
    if (log !== undefined && this.#call !== undefined)
      log.append(await this.#exchange(this.#call, around, log));
  }

  async #work(agent: Agent, task: AgentTask, signal: AbortSignal): Promise<AgentReport> {
    const { log, clock } = this.#setting;
    this.#call = { task, agent, began: clock.monotonic() };
    const report = await agent.work(log === undefined ? task : this.#recorded(task), signal);
    this.#report = report;
    this.#elapsed = clock.monotonic() - this.#call.began;
    if (report.kind === 'cancelled' && signal.aborted && !this.#setting.signal.aborted)
      this.#stopped = stalledReport(report, agent.name, String(signal.reason));
    return report;
  }

  #recorded(task: AgentTask): AgentTask {
    return {
      ...task,
      record: (item) => this.#note(item),
      keep: async (name, content) => {
        this.#artifacts.set(name, content);
        await task.keep(name, content);
      },
      acted: (action) => {
        this.#actions.push(action);
        task.acted(action);
      },
    };
  }

  #note(item: ExchangeItem): void {
    // A process that was taken over while it slept must not send, and pay for, a request.
    if (item.kind === 'request') beforeWrite(this.#setting.nodeDir);
    this.#size += JSON.stringify(item).length;
    if (this.#size > mostItems) this.#dropped += 1;
    else this.#items.push(item);
  }

  async #exchange(
    { task, agent }: AgentCall,
    around: { readonly before: Snapshot; readonly after: Snapshot } | undefined,
    log: ExchangeLog,
  ): Promise<ExchangeFacts> {
    const { clock, node, visit, attempt, signal, mask } = this.#setting;
    const prompt = mask(task.prompt);
    const artifacts: Exchange['artifacts'] = [];
    for (const [name, content] of this.#artifacts)
      artifacts.push({ name, content: await log.body(mask(content)) });
    const answer = this.#stopped ?? (this.#report?.kind === 'cancelled' ? undefined : this.#report);
    const written = answer?.kind === 'answered' ? node.settings.response_file : undefined;
    const clean = (value: object): Json => maskedValue(JSON.parse(JSON.stringify(value)), mask);
    const lines = withoutSplit(this.#items, mask).map((item) => `${JSON.stringify(clean(item))}\n`);
    return {
      type: 'Exchange',
      ...{ at: clock.now().toISOString(), node: node.id, visit, attempt, call: task.call },
      complete: answer !== undefined && !signal.aborted,
      agent: {
        name: agent.name,
        describe: mask(withModels(agent.describe, task.model === undefined ? [] : [task.model])),
      },
      attributes: Object.fromEntries(
        [...node.attrs.values()].flatMap(({ key, value }) =>
          key === 'prompt'
            ? []
            : [[key, mask(key === 'llm_model' ? (task.model ?? value.text) : value.text)]],
        ),
      ),
      prompt_sha256: sha256(prompt),
      prompt: await log.body(prompt),
      ...(prompt === task.prompt ? {} : { sent_sha256: sha256(task.prompt) }),
      ...threadWord(task.thread),
      schema:
        task.schema === undefined
          ? null
          : { name: task.schema.name, schema: await log.body(JSON.stringify(task.schema.schema)) },
      items: await log.body(lines.join('')),
      items_dropped: this.#dropped,
      report: answer === undefined ? null : await log.body(JSON.stringify(clean(answer))),
      artifacts,
      actions: this.#actions.map((one) => ({
        action: one.action,
        detail: mask(one.detail),
        status: mask(one.status),
      })),
      hidden: hiddenRecord(this.#setting.hidden),
      files: around === undefined ? null : filesRecord(around, written),
      usage: this.#report?.usage ?? null,
      elapsed_ms: Math.round(this.#elapsed),
      replayed: this.#line ?? null,
    };
  }
}

/** What the call is to its thread. */
function threadWord(thread: AgentTask['thread']): Pick<ExchangeFacts, 'thread'> {
  if (thread === undefined) return {};
  return { thread: thread.lost === true ? 'lost' : thread.before === undefined ? 'begins' : 'continues' };
}

const hiddenRecord = ({ paths, made, sealed }: Hidden): Exchange['hidden'] => ({
  paths: [...paths],
  made: [...made],
  ...(sealed.length === 0 ? {} : { sealed: [...sealed] }),
});

/** `written`: the file of a single-turn model's answer, which the engine writes itself. */
const filesRecord = (
  { before, after }: { readonly before: Snapshot; readonly after: Snapshot },
  written: string | undefined,
): Exchange['files'] => ({
  before: before.id,
  after: after.id,
  changes: changesBetween(before, after).filter(({ path }) => path !== written),
});

/** The report of an agent that was stopped because it stalled. Its call is complete, unlike one that was stopped with its
 *  run. */
const stalledReport = (
  { usage, by, spentBefore = [] }: AgentReport & { kind: 'cancelled' },
  name: string,
  why: string,
): AgentReport => ({
  kind: 'failed',
  class: 'stalled',
  reason: `the agent ${by?.agent ?? name} was stopped: ${why}`,
  ...(by === undefined ? {} : { by }),
  spentBefore: [...spentBefore, ...(usage === undefined ? [] : [usage])],
});

/** Changes of files, links and folders between two snapshots, each with what it is after them. */
function changesBetween(before: Snapshot, after: Snapshot): FileChange[] {
  const changes = diff(before, after);
  return (['created', 'modified', 'deleted'] as const).flatMap((change) =>
    [...changes.folders[change], ...changes[change]].flatMap((path): FileChange[] => {
      const entry = (change === 'deleted' ? before : after).tree.get(path);
      if (entry === undefined) return [];
      const { kind, mode, hash, target } = entry;
      if (change === 'deleted') return [{ path, change, kind }];
      const content = hash === undefined ? {} : { sha256: hash };
      return [{ path, change, kind, mode, ...content, ...(target === undefined ? {} : { target }) }];
    }),
  );
}

/* Masks secrets that a model's stream spreads over several events. Pure. */

/** Replaces all pieces of a text whose whole contains a secret: no single event would show it to the mask. */
export function withoutSplit(
  items: readonly ExchangeItem[],
  mask: (text: string) => string,
): readonly ExchangeItem[] {
  const texts = new Map<string, string[]>();
  for (const item of items) {
    if (item.kind !== 'event') continue;
    withPieces(item.event, (stream, piece) => {
      const pieces = texts.get(stream) ?? [];
      pieces.push(piece);
      texts.set(stream, pieces);
      return piece;
    });
  }
  const secret = new Set<string>();
  for (const [stream, pieces] of texts) {
    const whole = pieces.join('');
    if (mask(whole) !== whole) secret.add(stream);
  }
  if (secret.size === 0) return items;
  return items.map((item) =>
    item.kind === 'event'
      ? {
          kind: 'event',
          event: withPieces(item.event, (stream, piece) => (secret.has(stream) ? '***' : piece)),
        }
      : item,
  );
}

/** Applies `change` to each piece of an event: its `delta`, or the texts in the `delta` of a choice (content, reasoning, the
 *  arguments of a call). `stream` names the text that a piece belongs to. */
function withPieces(event: unknown, change: (stream: string, piece: string) => string): unknown {
  if (!isObject(event)) return event;
  const { type, delta, choices } = event;
  return {
    ...event,
    ...(typeof delta === 'string' ? { delta: change(String(type), delta) } : {}),
    ...(Array.isArray(choices)
      ? {
          choices: choices.map((choice: unknown) =>
            isObject(choice) && isObject(choice['delta'])
              ? { ...choice, delta: changed(choice['delta'], 'delta', change) }
              : choice,
          ),
        }
      : {}),
  };
}

/** Applies `change` to all texts of the value at `path`. */
function changed(value: unknown, path: string, change: (stream: string, piece: string) => string): unknown {
  if (typeof value === 'string') return change(path, value);
  if (Array.isArray(value)) return value.map((one: unknown) => changed(one, path, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, changed(one, `${path}.${key}`, change)]),
  );
}
