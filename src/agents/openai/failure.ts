/** What went wrong with a model call, in the words of a report. */
import type { Clock } from '../../system/clock.ts';
import type { AgentReport } from '../agent.ts';
import type { Fault } from './wire.ts';

export type Failed = Extract<AgentReport, { kind: 'failed' }>;

/** A failed exchange; `again` when the same request may well succeed later. */
export type Trouble = { readonly report: Failed; readonly again: boolean; readonly status?: number };

export type Facts = {
  readonly model: string;
  /** The base URL as it may be shown. */
  readonly shown: string;
  readonly clock: Clock;
};

type Package = typeof import('openai');

/** The report for an error that the package threw, or that reading the body did. */
export function troubleOf(error: unknown, openai: Package, facts: Facts): Trouble {
  if (error instanceof openai.APIConnectionError)
    return cut(`${facts.shown} cannot be reached: ${rootOf(error)}`);
  if (error instanceof openai.APIError && typeof error.status === 'number') {
    const word = typeof error.code === 'string' ? error.code : (error.type ?? '');
    const retryAfterMs = serverWait(error.headers, facts.clock);
    const told = error.headers?.get('x-should-retry');
    const trouble = byStatus(error.status, word, short(error.message), facts);
    return {
      ...trouble,
      status: error.status,
      again: told === 'false' ? false : trouble.again,
      report: { ...trouble.report, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
    };
  }
  return cut(`the stream from ${facts.shown} was cut: ${rootOf(error)}`);
}

/** A connection that broke, whoever broke it. */
export const cut = (reason: string): Trouble => ({ report: api('infra', reason), again: true });

/** An error that the server put into an answer it had begun. */
export function troubleOfFault(fault: Fault | null | undefined, facts: Facts): Trouble {
  const code = fault?.code ?? fault?.type ?? '';
  const said = short(fault?.message ?? (code === '' ? 'no reason given' : code));
  if (code === 'insufficient_quota') return quota(said, facts);
  if (fault?.code == null || passing.includes(fault.code)) {
    return cut(`${facts.shown} gave up on the answer: ${said}`);
  }
  return {
    report: api('config', `${facts.shown} does not answer this prompt (${code}): ${said}`),
    again: false,
  };
}

/** Codes of errors that pass by themselves. */
const passing: readonly string[] = [
  'server_error',
  'rate_limit_exceeded',
  'vector_store_timeout',
  'server_overloaded',
  'service_unavailable',
  'internal_error',
];

function byStatus(status: number, code: string, said: string, { model, shown }: Facts): Trouble {
  const config = (reason: string): Trouble => ({ report: api('config', reason), again: false });
  switch (true) {
    case status === 401 || status === 403:
      return config(
        `the key was refused by ${shown} (${said}): set OPENAI_API_KEY to a key that may use "${model}" there`,
      );
    case status === 404:
      return config(
        `model "${model}" was not found at ${shown} (${said}): check the name (llm_model, --model, FACTORY_MODEL) ` +
          'and OPENAI_BASE_URL',
      );
    case code === 'insufficient_quota':
      return quota(said, { shown });
    case status === 429:
      return cut(`too many requests for ${shown} (${said})`);
    case status === 408 || status === 409 || status >= 500:
      return cut(`${shown} is in trouble (${said})`);
    default:
      return config(`${shown} does not accept the request for "${model}": ${said}`);
  }
}

const quota = (said: string, { shown }: Pick<Facts, 'shown'>): Trouble => ({
  report: api('infra', `the quota of the key at ${shown} is used up (${said}): check its plan and billing`),
  // Waiting a minute mends a rate limit, not an empty purse.
  again: false,
});

const api = (failureClass: Failed['class'], reason: string): Failed => ({
  kind: 'failed',
  class: failureClass,
  reason,
  model: 'api',
});

/** `Retry-After` in milliseconds: as such, in seconds, or as a date. */
function serverWait(headers: Headers | undefined, clock: Clock): number | undefined {
  const ms = Number(headers?.get('retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(ms)) return Math.max(0, ms);
  const after = headers?.get('retry-after') ?? '';
  if (after.trim() === '') return undefined;
  const seconds = Number(after);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(after) - clock.now().getTime();
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}

/** The innermost cause, which says more than `fetch failed`. */
function rootOf(error: unknown): string {
  let root = error;
  for (let depth = 0; depth < 10 && root instanceof Error && root.cause instanceof Error; depth += 1)
    root = root.cause;
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
