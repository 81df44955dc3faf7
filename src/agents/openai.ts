/** A model behind the OpenAI API: one prompt and one answer, or where a node asks for it an agent with tools. */
import { reportOfText } from '../core/agent-answer.ts';
import { sumOfUsages, type Usage } from '../core/budget/usage.ts';
import type { Agent, AgentReport, AgentTask, ExchangeItem } from '../core/contracts/agent.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { JsonObject } from '../core/json.ts';
import type { ModelServer, ServerAccess } from '../core/model-server.ts';
import { sha256 } from '../core/sha256.ts';
import { isDisks } from '../platform/files/disk-error.ts';
import { Superseded } from '../platform/files/fence.ts';
import type { ModelResponse } from './openai/answer.ts';
import { type AskDeps, ask } from './openai/ask.ts';
import { type KnownServer, refusedBefore } from './openai/known.ts';
import { maskFor } from './openai/mask.ts';
import type { Request } from './openai/request.ts';
import { inOneTurn } from './openai/session.ts';
import {
  accessProblem,
  modelMissing,
  needsPromptAlone,
  openaiDefaults,
  readOpenaiSettings,
  serverWords,
  showURL,
} from './openai/settings.ts';
import { earlierTurns, keepTurns, lostByLength } from './openai/thread.ts';
import { type Watch, watchCall } from './openai/watch.ts';

export type OpenaiOptions = {
  readonly server: ModelServer;
  readonly access: ServerAccess;
  /** The node's `llm_model` overrides it. */
  readonly model?: string;
  /** Reasoning effort; the node's `reasoning_effort` overrides it. Not sent when neither is given. */
  readonly effort?: string;
  /** Sampling temperature; not sent when it is not given. */
  readonly temperature?: number;
  readonly clock: Clock;
  /** Token budget of the first try; an answer that does not fit gets one more try with twice as much. */
  readonly maxOutputTokens?: number;
  /** Retries after failures that may pass (429, 5xx, no connection). Default 2 for the stream, for handing the prompt in
   *  in the background, and for each poll there; the engine retries on top of it. */
  readonly maxRetries?: number;
  /** Milliseconds that the waits between such retries may take together. Default 60 s. */
  readonly maxWaitMs?: number;
  /** Milliseconds without a byte after which the server counts as dead. Default 40 minutes: a model may think long. */
  readonly idleMs?: number;
  /** Milliseconds between two polls of a background response. Default 5 s. */
  readonly pollMs?: number;
  /** Milliseconds that a background response may take. Default 40 minutes. */
  readonly pollDeadlineMs?: number;
  /** UTF-8 bytes of the longest answer. Default 10 MiB. */
  readonly maxAnswerBytes?: number;
};

/** The agent. No message of its reports carries the key. It rejects only where the engine's `run` and `keep` do. */
export function openaiAgent(options: OpenaiOptions): Agent {
  const settings = { ...openaiDefaults, ...options };
  const { server, access } = options;
  const shown = showURL(server.baseURL);
  const known: KnownServer = { refused: new Map() };
  const holder = sha256(access.apiKey);
  const mask = maskFor(server, access);
  return {
    name: 'openai',
    describe: serverWords(server, settings.model, options.effort),
    threads: true,
    answersAlone: (settings) => needsPromptAlone('openai', settings),
    modelFor: (task) => task.model ?? settings.model,
    accountFor: (task) => ({ endpoint: shown, model: task.model ?? settings.model ?? '', holder }),
    async work(task, signal) {
      const watch = watchCall(settings.clock, signal, task.timeoutMs);
      const ledger = openLedger(mask, (usage) => task.used?.(usage));
      try {
        const report = await call(task, watch, ledger);
        if (signal.aborted || report.kind === 'cancelled') return { kind: 'cancelled', ...ledger.spent() };
        return report.kind === 'failed'
          ? { ...report, ...ledger.summary(), ...ledger.unbilled(), reason: mask(report.reason) }
          : { ...report, ...ledger.summary() };
      } catch (error) {
        // A full disk, or a run that another process has taken over, is not the model's or this node's failure.
        if (isDisks(error, task.workspace) || error instanceof Superseded) throw error;
        if (signal.aborted) return { kind: 'cancelled', ...ledger.spent() };
        const why = error instanceof Error ? error.message : String(error);
        const reason = mask(`the openai agent broke: ${why}`);
        return { kind: 'failed', class: 'internal', reason, ...ledger.spent() };
      } finally {
        watch.end();
      }
    },
  };

  async function call(task: AgentTask, watch: Watch, ledger: Ledger): Promise<AgentReport> {
    const problem =
      accessProblem(server, access) ?? ((task.model ?? settings.model) ? undefined : modelMissing(server));
    if (problem !== undefined) return { kind: 'failed', class: 'config', reason: problem, model: 'api' };
    const { api: ofNode, loop } = readOpenaiSettings(task);
    const api = ofNode === 'auto' ? server.api : ofNode;
    const talked = earlierTurns(task);
    if ('report' in talked) return talked.report;
    const earlier = talked.turns.length === 0 ? {} : { earlier: talked.turns };
    const request = { ...requestFor(task, settings, shown, mask), ...earlier };
    const deps = {
      ...{ task, watch, known, api, mask, clock: settings.clock },
      refused: refusedBefore(known, request.model),
      ...{ note: ledger.note, used: () => ledger.spent().usage },
    };
    if (loop === undefined) return oneAnswer(request, deps);
    // Loaded only by those who use tools.
    const { toolLoop } = await import('./openai/loop.ts');
    return toolLoop(task, loop, request, deps);
  }
}

type Settings = OpenaiOptions &
  Pick<Request, 'idleMs' | 'maxAnswerBytes' | 'maxRetries' | 'maxWaitMs' | 'firstRetryMs'> &
  Pick<Request, 'pollMs' | 'pollDeadlineMs'> & { readonly maxOutputTokens: number };

/** What a task asks of the server, before any talk. */
function requestFor(
  task: AgentTask,
  settings: Settings,
  shown: string,
  mask: (text: string) => string,
): Request {
  return {
    ...settings,
    shown,
    idleMs: Math.min(settings.idleMs, task.idleMs ?? settings.idleMs),
    ...(task.park_after === undefined ? {} : { park_after: task.park_after }),
    ...(task.outageMs === undefined ? {} : { outageMs: task.outageMs }),
    model: task.model ?? settings.model ?? '',
    effort: task.settings.reasoning_effort ?? settings.effort,
    temperature: settings.temperature,
    budget: settings.maxOutputTokens,
    prompt: task.prompt,
    schema: schemaFor(task),
    ...(task.waits === undefined
      ? {}
      : { waits: (wait) => task.waits?.({ ...wait, reason: mask(wait.reason) }) }),
    ...(task.record === undefined ? {} : { record: (item) => task.record?.(masked(item, mask)) }),
  };
}

/** One prompt and its answer. */
async function oneAnswer(
  request: Request,
  deps: AskDeps & {
    readonly task: AgentTask;
    readonly mask: (text: string) => string;
    readonly clock: Clock;
    readonly used: () => Usage | undefined;
  },
): Promise<AgentReport> {
  const { task, mask } = deps;
  const got = await inOneTurn(
    task,
    request.model,
    deps,
    (timed) => ask(request, { ...deps, task: timed }),
    (answered) =>
      'answer' in answered
        ? { text: mask(answered.answer.text), reasoning: mask(answered.answer.reasoning) }
        : undefined,
  );
  if ('report' in got) return lostByLength(got, request) ?? got.report;
  const { text } = got.answer;
  keepTurns(task, request.earlier ?? [], [{ by: 'model', text, items: [], calls: [] }], mask);
  return reportOfText(task, text);
}

/** What the exchanges of one call add up to. */
type Ledger = {
  note(ended: ModelResponse): void;
  spent(): { readonly usage?: Usage };
  unbilled(): { readonly unbilled?: true };
  summary(): Pick<Extract<AgentReport, { kind: 'failed' }>, 'usage' | 'reasoning' | 'artifacts'>;
};

function openLedger(mask: (text: string) => string, used: (usage: Usage) => void): Ledger {
  let usage: Usage | undefined;
  // Whether an exchange without usage may have cost something all the same.
  let isIncomplete = false;
  let reasoning = '';
  const turns: string[] = [];
  const artifacts: { name: string; content: string }[] = [];
  const spent = () =>
    usage === undefined ? {} : { usage: isIncomplete ? { ...usage, incomplete: true as const } : usage };
  return {
    note(ended) {
      if (ended.usage !== undefined) usage = sumOfUsages(usage, ended.usage);
      else if (ended.kind !== 'trouble' || ended.trouble.unbilled !== true) isIncomplete = true;
      const sum = spent().usage;
      if (sum !== undefined) used(sum);
      // Of several tries the last one counts, of the turns of a tool loop each.
      if (ended.kind === 'answer' && ended.calls !== undefined) turns.push(ended.reasoning);
      else if (ended.reasoning !== '') reasoning = ended.reasoning;
      if (ended.evidence === undefined) return;
      const { what, raw } = ended.evidence;
      const number = what === 'poll_timeout' ? '' : `_${artifacts.length}`;
      const content = mask(`${JSON.stringify(raw, null, 2)}\n`);
      artifacts.push({ name: `raw_response_${what}${number}.json`, content });
    },
    spent,
    unbilled: () => (usage === undefined && !isIncomplete ? { unbilled: true } : {}),
    summary() {
      const all = [...turns, reasoning].filter((one) => one !== '').join('\n\n');
      return {
        ...spent(),
        ...(all === '' ? {} : { reasoning: mask(all) }),
        ...(artifacts.length === 0 ? {} : { artifacts }),
      };
    },
  };
}

/** A record without the key, which a server may repeat. */
function masked(item: ExchangeItem, mask: (text: string) => string): ExchangeItem {
  const text = JSON.stringify(item);
  if (mask(text) === text) return item;
  // By string and not as a whole: a key of digits may be part of a number.
  const inStrings = (_: string, value: unknown) => (typeof value === 'string' ? mask(value) : value);
  return JSON.parse(text, inStrings) as ExchangeItem;
}

/** The API takes letters, digits, `_` and `-` in a schema's name, 64 at most. */
function schemaFor(task: AgentTask): { readonly name: string; readonly schema: JsonObject } | undefined {
  if (task.schema === undefined) return undefined;
  const name = task.schema.name.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 64);
  return { name: name === '' ? 'answer' : name, schema: task.schema.schema };
}
