/** What went wrong with a model call, in the words of a report. */
import type { Clock } from '../../system/clock.ts';
import type { AgentReport, Park } from '../agent.ts';
import { saidWait } from '../said-wait.ts';
import { Elsewhere } from './redirects.ts';
import type { Fault } from './wire.ts';

export type Failed = Extract<AgentReport, { kind: 'failed' }>;

/** A failed exchange. `again`: the same request may well succeed later. `way`: it is the way of asking that failed, not
 *  the question: the stream was lost on its way, or the server refuses to stream. */
export type Trouble = {
  readonly report: Failed;
  readonly again: boolean;
  readonly status?: number;
  /** No model worked on it: the server said no, or was never reached. */
  readonly unbilled?: true;
  readonly way?: 'lost' | 'refused';
  /** What of the request the server says that it does not take: also `store`, which the background needs. */
  readonly names?: 'background';
};

export type Facts = {
  readonly model: string;
  /** The base URL as it may be shown. */
  readonly shown: string;
  readonly clock: Clock;
};

type Package = typeof import('openai');

/** The report for an error that the package threw, or that reading the body did. */
export function troubleOf(error: unknown, openai: Package, facts: Facts): Trouble {
  if (error instanceof openai.APIConnectionError) {
    const root = rootOf(error);
    if (innermost(error) instanceof Elsewhere) return { ...config(`${facts.shown} ${root}`), unbilled: true };
    const trouble = cut(`${facts.shown} cannot be reached: ${root}`);
    return /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|certificate/i.test(root)
      ? { ...trouble, unbilled: true }
      : trouble;
  }
  if (error instanceof openai.APIError && typeof error.status === 'number') {
    const { status } = error;
    const word = typeof error.code === 'string' ? error.code : (error.type ?? '');
    const retryAfterMs = serverWait(error.headers, facts.clock);
    const told = error.headers?.get('x-should-retry');
    // Reasoning models take no temperature, whichever it is.
    const warm = status === 400 && (error.param === 'temperature' || /\btemperature\b/i.test(error.message));
    const fix = warm ? ': leave out --llm-temperature for this model' : '';
    const trouble = byStatus(status, word, `${short(wordsOf(error))}${fix}`, facts);
    const noStream = error.param === 'stream' || /\bstream(ing|_options)?\b/i.test(error.message);
    const noBackground = /\b(?:background|store)\b/i.test(`${error.param ?? ''} ${error.message}`);
    // What the server asks for with a quota is when it is there again.
    const park: Park | undefined =
      status === 429 && retryAfterMs !== undefined && trouble.report.park?.kind !== 'billing'
        ? { kind: 'quota', wakeAtMs: facts.clock.now().getTime() + retryAfterMs }
        : trouble.report.park;
    return {
      ...trouble,
      status,
      unbilled: true,
      again: told === 'false' ? false : trouble.again,
      ...((status === 400 || status === 422) && noStream ? { way: 'refused' } : {}),
      ...(noBackground ? { names: 'background' } : {}),
      report: {
        ...trouble.report,
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
        ...(park === undefined ? {} : { park }),
      },
    };
  }
  return cut(`the answer from ${facts.shown} was cut: ${rootOf(error)}`);
}

/** What the server said. The package takes a body that is no error in the API's form for none at all. */
const wordsOf = ({ message }: Error): string =>
  message.replace(/ status code \(no body\)$/, ", without an error in the API's form");

/** A connection that broke, whoever broke it. */
export const cut = (reason: string): Trouble => ({ ...passing(reason), way: 'lost' });

const passing = (reason: string): Trouble => ({ report: api('infra', reason), again: true });

function limited(said: string, { shown, clock }: Facts): Trouble {
  const now = clock.now();
  const wait = saidWait(said, now);
  const until: Pick<Failed, 'park' | 'retryAfterMs'> =
    wait === undefined
      ? { park: { kind: 'quota', unsaid: true } }
      : { park: { kind: 'quota', wakeAtMs: now.getTime() + wait }, retryAfterMs: wait };
  return {
    report: { ...api('infra', `too many requests for ${shown} (${said})`), ...until },
    again: true,
  };
}

/** The server's last word on this prompt, which is no answer. */
export const ended = (reason: string): Trouble => ({ report: api('agent', reason), again: false });

/** An error that the server put into an answer it had begun. */
export function troubleOfFault(fault: Fault | null | undefined, facts: Facts): Trouble {
  const code = fault?.code ?? fault?.type ?? '';
  const said = short(fault?.message ?? (code === '' ? 'no reason given' : code));
  const known = /^[45]\d\d$/.test(code) ? byStatus(Number(code), '', said, facts) : byCode(code, said, facts);
  if (known !== undefined) return known;
  if (code === '') return ended(`${facts.shown} ended the answer as failed: ${said}`);
  return config(`${facts.shown} does not answer this prompt (${code}): ${said}`);
}

const config = (reason: string, kind?: Park['kind']): Trouble => ({
  report: { ...api('config', reason), ...(kind === undefined ? {} : { park: { kind } }) },
  again: false,
});

/** Also `billing_not_active`, `billing_hard_limit_reached`: they come with any status, 429 among them. */
const emptyPurse = /^(?:insufficient_quota|billing_\w+)$/;

/** What the API's own words for errors mean, wherever they stand. */
function byCode(code: string, said: string, facts: Facts): Trouble | undefined {
  const { model, shown } = facts;
  if (emptyPurse.test(code)) {
    return {
      report: {
        ...api('infra', `the quota of the key at ${shown} is used up (${said}): check its plan and billing`),
        park: { kind: 'billing' },
      },
      // Waiting a minute mends a rate limit, not an empty purse.
      again: false,
    };
  }
  switch (code) {
    case 'invalid_api_key':
      return config(
        `the key was refused by ${shown} (${said}): set OPENAI_API_KEY to a key that may use "${model}" there`,
        'auth',
      );
    case 'model_not_found':
      return config(
        `model "${model}" was not found at ${shown} (${said}): check the name (llm_model, --model, FACTORY_MODEL) ` +
          'and OPENAI_BASE_URL',
      );
    case 'rate_limit_exceeded':
    case 'rate_limit_error':
      return limited(said, facts);
    case 'server_error':
    case 'internal_error':
    case 'server_overloaded':
    case 'engine_overloaded':
    case 'overloaded_error':
    case 'overloaded':
    case 'slow_down':
    case 'service_unavailable':
    case 'vector_store_timeout':
      return passing(`${shown} is in trouble (${said})`);
    default:
      return /rate limit/i.test(said) ? limited(said, facts) : undefined;
  }
}

function byStatus(status: number, code: string, said: string, facts: Facts): Trouble {
  switch (true) {
    case emptyPurse.test(code):
      return byCode(code, said, facts) ?? config(said);
    case status === 401 || status === 403:
      return byCode('invalid_api_key', said, facts) ?? config(said);
    case status === 402:
      return byCode('insufficient_quota', said, facts) ?? config(said);
    case status === 404:
      return byCode('model_not_found', said, facts) ?? config(said);
    case status === 429:
      return limited(said, facts);
    case status === 408 || status === 409 || status >= 500:
      return passing(`${facts.shown} is in trouble (${said})`);
    default:
      return (
        byCode(code, said, facts) ??
        config(`${facts.shown} does not accept the request for "${facts.model}": ${said}`)
      );
  }
}

const api = (failureClass: Failed['class'], reason: string): Failed => ({
  kind: 'failed',
  class: failureClass,
  reason,
  model: 'api',
});

/** `Retry-After` in milliseconds: as such, in seconds, or as a date. */
function serverWait(headers: Headers | undefined, clock: Clock): number | undefined {
  const ms = Number(headers?.get('retry-after-ms') || Number.NaN);
  if (Number.isFinite(ms)) return Math.max(0, ms);
  const after = headers?.get('retry-after') ?? '';
  if (after.trim() === '') return limitWait(headers);
  const seconds = Number(after);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : waitUntil(Date.parse(after), headers, clock);
  return Number.isFinite(wait) ? Math.max(0, wait) : limitWait(headers);
}

/** Milliseconds from which on a wait speaks of a wrong clock: no limit is for more than a month. */
const longestLimit = 31 * 86_400_000;

/** By the server's own clock where it tells it: ours may be wrong. But what is between may have set a date of its own, by a
 *  clock that nobody ever set. */
function waitUntil(until: number, headers: Headers | undefined, clock: Clock): number {
  const byTheirs = until - Date.parse(headers?.get('date') ?? '');
  return Math.abs(byTheirs) <= longestLimit ? byTheirs : until - clock.now().getTime();
}

/** The longest of the waits that `x-ratelimit-reset-*` names, of the limits that are used up where the server says which
 *  are; in milliseconds. */
function limitWait(headers: Headers | undefined): number | undefined {
  const waits = (['requests', 'tokens'] as const).flatMap((what) => {
    const ms = lengthOf(headers?.get(`x-ratelimit-reset-${what}`) ?? '');
    const remaining = headers?.get(`x-ratelimit-remaining-${what}`);
    return ms === undefined || !Number.isFinite(ms)
      ? []
      : [{ ms, used: remaining == null || Number(remaining) <= 0 }];
  });
  const used = waits.filter((wait) => wait.used);
  const counting = used.length > 0 ? used : waits;
  return counting.length === 0 ? undefined : Math.max(...counting.map(({ ms }) => ms));
}

/** `6m0s`, `1.5s`, `120ms`, or seconds; in milliseconds. */
function lengthOf(text: string): number | undefined {
  const word = text.trim();
  if (/^\d+(?:\.\d+)?$/.test(word)) return Number(word) * 1000;
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(word)) return undefined;
  const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  let sum = 0;
  for (const [, number, unit] of word.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g))
    sum += Number(number) * (units[unit ?? ''] ?? 0);
  return Math.ceil(sum);
}

/** The innermost cause, which says more than `fetch failed`. */
function innermost(error: unknown): unknown {
  let root = error;
  for (let depth = 0; depth < 10 && root instanceof Error && root.cause instanceof Error; depth += 1)
    root = root.cause;
  return root;
}

function rootOf(error: unknown): string {
  const root = innermost(error);
  if (!(root instanceof Error)) return short(String(root));
  const code = 'code' in root && typeof root.code === 'string' ? root.code : '';
  if (root.message === '') return code === '' ? root.name : code;
  return short(code === '' || root.message.includes(code) ? root.message : `${root.message} (${code})`);
}

/** One line of at most 500 characters. */
function short(text: string): string {
  const line = [...text.replace(/\s+/g, ' ').trim()];
  return line.length > 500 ? `${line.slice(0, 500).join('')}…` : line.join('');
}
