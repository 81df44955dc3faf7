/** A single-turn model behind the OpenAI Responses API: one prompt, one streamed answer. */
import type { JsonObject } from '../model/json.ts';
import type { Clock } from '../system/clock.ts';
import type { Agent, AgentReport, AgentTask, Usage } from './agent.ts';
import { type Exchange, exchange } from './openai/exchange.ts';
import type { Failed } from './openai/failure.ts';
import { type Watch, watchCall } from './openai/watch.ts';

export type OpenaiOptions = {
  readonly apiKey: string;
  /** Default `https://api.openai.com/v1`. */
  readonly baseURL?: string;
  /** The node's `llm_model` wins over it. */
  readonly model: string;
  /** Reasoning effort; the node's `reasoning_effort` wins over it. Not sent when neither is given. */
  readonly effort?: string;
  readonly clock: Clock;
  /** Budget of the first try, in tokens; an answer that does not fit gets one more try with twice as much. */
  readonly maxOutputTokens?: number;
  /** Further tries after failures that may pass: 429, 5xx, no connection, a stream that breaks off. Default 2; the
   *  engine tries again on its own. */
  readonly maxRetries?: number;
  /** Milliseconds that one call waits between its tries, all in all. Default 60 s: a server that wants more is
   *  reported, with its wait. */
  readonly maxWaitMs?: number;
  /** Milliseconds without a byte after which the server counts as dead. Default 40 minutes: a model may think long. */
  readonly idleMs?: number;
  /** Bytes (UTF-8) of the longest answer. Default 10 MiB. */
  readonly maxAnswerBytes?: number;
};

export const openaiDefaults = {
  baseURL: 'https://api.openai.com/v1',
  model: 'gpt-5.2',
  maxOutputTokens: 64_000,
  maxRetries: 2,
  maxWaitMs: 60_000,
  idleMs: 2_400_000,
  maxAnswerBytes: 10 * 1024 * 1024,
} as const;

const firstWaitMs = 500;

/** The agent. No message of its reports carries the key. */
export function openaiAgent(options: OpenaiOptions): Agent {
  const settings = { ...openaiDefaults, ...options, apiKey: options.apiKey.trim() };
  const shown = showURL(settings.baseURL);
  // A word that is shorter is a placeholder for a local server, and may stand in any text.
  const mask = (text: string) =>
    settings.apiKey.length < 6 ? text : text.replaceAll(settings.apiKey, '***');
  return {
    name: 'openai',
    describe: `openai ${settings.model} at ${shown}`,
    async work(task, signal) {
      const watch = watchCall(settings.clock, signal, task.timeoutMs);
      try {
        const report = await call(task, watch);
        if (signal.aborted) return { kind: 'cancelled' };
        return report.kind === 'failed' ? { ...report, reason: mask(report.reason) } : report;
      } catch (error) {
        if (signal.aborted) return { kind: 'cancelled' };
        const why = error instanceof Error ? error.message : String(error);
        return { kind: 'failed', class: 'internal', reason: mask(`the openai agent broke: ${why}`) };
      } finally {
        watch.end();
      }
    },
  };

  async function call(task: AgentTask, watch: Watch): Promise<AgentReport> {
    const key = keyProblem(settings.apiKey);
    if (key !== undefined) return { kind: 'failed', class: 'config', reason: key, model: 'api' };
    const model = attribute(task, 'llm_model') ?? settings.model;
    const effort = attribute(task, 'reasoning_effort') ?? settings.effort;
    let budget = settings.maxOutputTokens;
    let usage: Usage | undefined;
    let short: Failed | undefined;
    let waited = 0;
    for (let retries = 0; ; ) {
      if (watch.stopped !== undefined) return stopReport(watch.stopped, task, undefined, usage);
      const ended: Exchange = await exchange(
        {
          ...settings,
          idleMs: idleLimit(task),
          model,
          effort,
          budget,
          prompt: task.prompt,
          schema: schemaFor(task),
          shown,
        },
        watch,
        task.onText,
      );
      usage = sum(usage, ended.usage);
      const spent = usage === undefined ? {} : { usage };
      if (watch.stopped !== undefined) return stopReport(watch.stopped, task, ended.text, usage);
      const partial = ended.text === '' ? {} : { response: ended.text };
      switch (ended.kind) {
        case 'answer':
          return { kind: 'answered', text: ended.text, ...spent };
        case 'unusable':
          return {
            kind: 'failed',
            class: 'agent',
            reason: ended.reason,
            model: 'output',
            ...partial,
            ...spent,
          };
        case 'short': {
          const reason = `the answer of "${model}" does not fit into ${budget} tokens`;
          const failed: Failed = { kind: 'failed', class: 'agent', reason, model: 'output', ...partial };
          if (short !== undefined) return { ...failed, ...spent };
          short = failed;
          budget *= 2;
          continue;
        }
        case 'trouble': {
          const { report, again, status } = ended.trouble;
          // A model whose budget cannot be raised that far says so; what the user needs to hear is the first problem.
          if (short !== undefined && status === 400) {
            return {
              ...short,
              reason: `${short.reason}, and ${budget} are refused: ${report.reason}`,
              ...spent,
            };
          }
          const wait = report.retryAfterMs ?? Math.min(firstWaitMs * 2 ** retries, settings.maxWaitMs);
          if (!again || retries >= settings.maxRetries || waited + wait > settings.maxWaitMs) {
            const after = retries === 0 ? '' : ` (after ${retries + 1} tries)`;
            return { ...report, reason: `${report.reason}${after}`, ...partial, ...spent };
          }
          await settings.clock.sleep(wait, watch.signal);
          waited += wait;
          retries += 1;
        }
      }
    }
  }

  function idleLimit(task: AgentTask): number {
    return Math.min(settings.idleMs, task.idleMs ?? settings.idleMs);
  }

  function stopReport(
    stopped: NonNullable<Watch['stopped']>,
    task: AgentTask,
    text: string | undefined,
    usage: Usage | undefined,
  ): AgentReport {
    if (stopped === 'cancelled') return { kind: 'cancelled' };
    const rest = {
      model: 'api' as const,
      ...(text === undefined || text === '' ? {} : { response: text }),
      ...(usage === undefined ? {} : { usage }),
    };
    if (stopped === 'timeout') {
      const reason = `no whole answer from ${shown} within ${seconds(task.timeoutMs ?? 0)} (the node's timeout)`;
      return { kind: 'failed', class: 'timeout', reason, ...rest };
    }
    return {
      kind: 'failed',
      class: 'timeout',
      reason: `${shown} was silent for ${seconds(idleLimit(task))}`,
      ...rest,
    };
  }
}

/** Why this cannot be a key, or undefined; says nothing of the key itself. */
export function keyProblem(apiKey: string): string | undefined {
  const key = apiKey.trim();
  if (key === '') return 'there is no key: set OPENAI_API_KEY';
  if (!/^[\x21-\x7e]+$/.test(key))
    return 'OPENAI_API_KEY has characters that no key has: blanks, line ends or letters beyond ASCII';
  return undefined;
}

/** A base URL as it may stand in messages: without user, password and query. */
export function showURL(baseURL: string): string {
  try {
    const url = new URL(baseURL);
    return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  } catch {
    return baseURL;
  }
}

function attribute(task: AgentTask, key: string): string | undefined {
  const value = Object.hasOwn(task.attributes, key) ? task.attributes[key]?.trim() : undefined;
  return value === '' ? undefined : value;
}

/** The API takes letters, digits, `_` and `-` in a schema's name, 64 at most. */
function schemaFor(task: AgentTask): { readonly name: string; readonly schema: JsonObject } | undefined {
  if (task.schema === undefined) return undefined;
  const name = task.schema.name.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 64);
  return { name: name === '' ? 'answer' : name, schema: task.schema.schema };
}

/** What several tries used; a number that one of them did not tell is at least what the others did. */
function sum(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const both = (x: number | null, y: number | null) => (x === null ? y : y === null ? x : x + y);
  return {
    model: b.model,
    input_tokens: both(a.input_tokens, b.input_tokens),
    output_tokens: both(a.output_tokens, b.output_tokens),
    cost_usd: null,
  };
}

const seconds = (ms: number): string => `${ms / 1000} s`;
