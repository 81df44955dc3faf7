/** A model behind the OpenAI API: one prompt and one answer, or where a node asks for it a small agent with tools. */
import type { JsonObject } from '../model/json.ts';
import { sumOfUsages, type Usage } from '../model/spent.ts';
import type { Clock } from '../system/clock.ts';
import { isDisks } from '../system/disk-trouble.ts';
import { Superseded } from '../system/fence.ts';
import { masker } from '../system/mask.ts';
import type { Agent, AgentReport, AgentTask, ExchangeItem } from './agent.ts';
import type { Request } from './openai/client.ts';
import { hiddenIn, keyProblem, openaiDefaults, showURL } from './openai/defaults.ts';
import type { Exchange } from './openai/ending.ts';
import { readMode } from './openai/mode.ts';
import { type Known, speak } from './openai/speak.ts';
import { type Watch, watchCall } from './openai/watch.ts';

export type OpenaiOptions = {
  readonly apiKey: string;
  /** Default `https://api.openai.com/v1`. */
  readonly baseURL?: string;
  /** The node's `llm_model` wins over it. */
  readonly model: string;
  /** Reasoning effort; the node's `reasoning_effort` wins over it. Not sent when neither is given. */
  readonly effort?: string;
  /** Sampling temperature; not sent when it is not given. */
  readonly temperature?: number;
  readonly clock: Clock;
  /** Budget of the first try, in tokens; an answer that does not fit gets one more try with twice as much. */
  readonly maxOutputTokens?: number;
  /** Further tries after failures that may pass: 429, 5xx, no connection. Default 2 for the stream, for the background
   *  that takes over when no stream comes through, and for each look there; the engine tries again on its own. */
  readonly maxRetries?: number;
  /** Milliseconds that are waited between such tries, all in all. Default 60 s: a server that wants more is reported,
   *  with its wait. */
  readonly maxWaitMs?: number;
  /** Milliseconds without a byte after which the server counts as dead. Default 40 minutes: a model may think long. */
  readonly idleMs?: number;
  /** Milliseconds that a server which has ended its answer over chat completions may go on with nothing. Default 10 s. */
  readonly lullMs?: number;
  /** Milliseconds between two looks at an answer in the background. Default 5 s. */
  readonly pollMs?: number;
  /** Milliseconds that an answer in the background may take. Default 40 minutes. */
  readonly pollDeadlineMs?: number;
  /** Bytes (UTF-8) of the longest answer. Default 10 MiB. */
  readonly maxAnswerBytes?: number;
};

/** The agent. No message of its reports carries the key. It rejects only where the engine's own doors (`run`, `keep`) do. */
export function openaiAgent(options: OpenaiOptions): Agent {
  const settings = { ...openaiDefaults, ...options, apiKey: options.apiKey.trim() };
  const shown = showURL(settings.baseURL);
  const known: Known = {};
  // A word that is shorter is a placeholder for a local server, and may stand in any text.
  const key = settings.apiKey.length < 6 ? [] : asWritten(settings.apiKey);
  const mask = masker([...key, ...hiddenIn(settings.baseURL)]);
  return {
    name: 'openai',
    describe: `openai ${settings.model} at ${shown}${options.effort === undefined ? '' : `, effort ${options.effort}`}`,
    modelFor: (task) => attribute(task, 'llm_model') ?? settings.model,
    async work(task, signal) {
      const watch = watchCall(settings.clock, signal, task.timeoutMs);
      const along = ledger((usage) => task.used?.(usage));
      try {
        const report = await call(task, watch, along);
        if (signal.aborted || report.kind === 'cancelled') return { kind: 'cancelled', ...along.spent() };
        const { unbilled, ...beside } = along.beside();
        return report.kind === 'failed'
          ? {
              ...report,
              ...beside,
              ...(unbilled === undefined ? {} : { unbilled }),
              reason: mask(report.reason),
            }
          : { ...report, ...beside };
      } catch (error) {
        // A disk that is full, or a run that is another's by now, is nothing that a model or this node did.
        if (isDisks(error, task.workspace) || error instanceof Superseded) throw error;
        if (signal.aborted) return { kind: 'cancelled', ...along.spent() };
        const why = error instanceof Error ? error.message : String(error);
        const reason = mask(`the openai agent broke: ${why}`);
        return { kind: 'failed', class: 'internal', reason, ...along.spent() };
      } finally {
        watch.end();
      }
    },
  };

  async function call(task: AgentTask, watch: Watch, along: Ledger): Promise<AgentReport> {
    const config = (reason: string): AgentReport => ({ kind: 'failed', class: 'config', reason });
    const key = keyProblem(settings.apiKey);
    if (key !== undefined) return { kind: 'failed', class: 'config', reason: key, model: 'api' };
    const read = readMode(task);
    if ('problem' in read) return config(read.problem);
    const { api, loop } = read.mode;
    const first: Request = {
      ...settings,
      idleMs: idleLimit(task),
      ...(task.parkAfterMs === undefined ? {} : { parkAfterMs: task.parkAfterMs }),
      model: attribute(task, 'llm_model') ?? settings.model,
      effort: attribute(task, 'reasoning_effort') ?? settings.effort,
      temperature: settings.temperature,
      budget: settings.maxOutputTokens,
      prompt: task.prompt,
      schema: schemaFor(task),
      shown,
      ...(task.record === undefined ? {} : { record: (item) => task.record?.(withoutKey(item)) }),
    };
    const deps = {
      task,
      watch,
      idleMs: idleLimit(task),
      note: along.note,
      known,
      ways: {},
      chatWays: {},
    };
    if (loop !== undefined) {
      // The tools are loaded by those who use them only.
      const { toolLoop } = await import('./openai/loop.ts');
      return toolLoop(task, loop, first, {
        ...deps,
        api,
        clock: settings.clock,
        mask,
        used: () => along.beside().usage,
      });
    }
    // Which API a server speaks is found out in a loop only: one prompt is not sent twice.
    const got = await speak(first, { ...deps, api: api === 'auto' ? 'responses' : api });
    return 'report' in got ? got.report : { kind: 'answered', text: got.answer.text };
  }

  /** What the exchanges of one call leave behind beside its answer. */
  function ledger(used: (usage: Usage) => void): Ledger {
    const told = () => [...thoughts, reasoning].filter((one) => one !== '').join('\n\n');
    let usage: Usage | undefined;
    let reasoning = '';
    // Whether an exchange that told no usage may have cost something all the same.
    let untold = false;
    const whole = (told: Usage): Usage => (untold ? { ...told, incomplete: true } : told);
    const thoughts: string[] = [];
    const artifacts: { name: string; content: string }[] = [];
    return {
      note(ended) {
        if (ended.usage !== undefined) usage = sumOfUsages(usage, ended.usage);
        else if (ended.kind !== 'trouble' || ended.trouble.unbilled !== true) untold = true;
        if (usage !== undefined) used(whole(usage));
        // Of several tries the last one counts, of several turns each.
        if (ended.kind === 'answer' && ended.calls !== undefined) thoughts.push(ended.reasoning);
        else if (ended.reasoning !== '') reasoning = ended.reasoning;
        if (ended.evidence === undefined) return;
        const { what, raw } = ended.evidence;
        const number = what === 'poll_timeout' ? '' : `_${artifacts.length}`;
        const content = mask(`${JSON.stringify(raw, null, 2)}\n`);
        artifacts.push({ name: `raw_response_${what}${number}.json`, content });
      },
      spent: () => (usage === undefined ? {} : { usage: whole(usage) }),
      beside: () => ({
        ...(usage === undefined ? {} : { usage: whole(usage) }),
        ...(usage === undefined && !untold ? { unbilled: true as const } : {}),
        ...(told() === '' ? {} : { reasoning: mask(told()) }),
        ...(artifacts.length === 0 ? {} : { artifacts }),
      }),
    };
  }

  /** A server that repeats the key must not have it recorded. */
  function withoutKey(item: ExchangeItem): ExchangeItem {
    const text = JSON.stringify(item);
    const clean = mask(text);
    if (clean === text) return item;
    try {
      return JSON.parse(clean) as ExchangeItem;
    } catch {
      // A key of digits may stand in a number, which has no room for stars.
      const masked = (_: string, value: unknown) => (typeof value === 'string' ? mask(value) : value);
      return JSON.parse(text, masked) as ExchangeItem;
    }
  }

  function idleLimit(task: AgentTask): number {
    return Math.min(settings.idleMs, task.idleMs ?? settings.idleMs);
  }
}

type Ledger = {
  note(ended: Exchange): void;
  spent(): { readonly usage?: Usage };
  beside(): Pick<Extract<AgentReport, { kind: 'failed' }>, 'usage' | 'reasoning' | 'artifacts' | 'unbilled'>;
};

/** A key as it is, and as a JSON text spells it. */
const asWritten = (key: string): string[] => [key, JSON.stringify(key).slice(1, -1)];

function attribute(task: Pick<AgentTask, 'attributes'>, key: string): string | undefined {
  const value = Object.hasOwn(task.attributes, key) ? task.attributes[key]?.trim() : undefined;
  return value === '' ? undefined : value;
}

/** The API takes letters, digits, `_` and `-` in a schema's name, 64 at most. */
function schemaFor(task: AgentTask): { readonly name: string; readonly schema: JsonObject } | undefined {
  if (task.schema === undefined) return undefined;
  const name = task.schema.name.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 64);
  return { name: name === '' ? 'answer' : name, schema: task.schema.schema };
}
