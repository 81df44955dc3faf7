/** What went wrong with a model call, in the words of a report. */
import type { FailedReport } from '../../core/contracts/agent.ts';
import type { Clock } from '../../core/contracts/clock.ts';
import { type ModelServer, variablesToAsk } from '../../core/model-server.ts';
import type { Park } from '../../core/outcome.ts';
import { ProxyTrouble, rootCause } from '../../platform/outgoing.ts';
import { isDown, waitNamed } from '../program/failure.ts';
import type { Part } from './request.ts';
import { baseUrlWords } from './settings.ts';

/** An answer, or one event of it, is larger than `maxAnswerBytes` allows. */
export class TooLarge extends Error {}

/** A server that is not the API answered, such as a gateway with its page. */
export class NotTheApi extends Error {}

/** The server wants the request to be sent to another one. */
export class Redirected extends Error {}

/** A failed exchange. */
export type RequestFailure = {
  readonly report: FailedReport;
  /** The same request may succeed later. */
  readonly again: boolean;
  /** The HTTP status of a refusal. */
  readonly status?: number;
  /** No model worked on it: the server refused, or was never reached. */
  readonly unbilled?: true;
  /** The answer was lost on its way: a model may have worked on it. */
  readonly lost?: true;
  /** The conversation is longer than the model can take. */
  readonly tooLong?: true;
  /** Parts of the request that the server may not accept, by its words: the likeliest first. */
  readonly refuses?: readonly Part[];
  /** The server has no such path: it may speak another API. */
  readonly noPath?: true;
};

export type FailureFacts = {
  readonly model: string;
  readonly server: ModelServer;
  /** The base URL as it may be shown. */
  readonly shown: string;
  readonly clock: Clock;
};

type ErrorClass = abstract new (...given: never[]) => Error;
/** The classes of an SDK's errors. */
export type ErrorClasses = Readonly<
  Record<'APIError' | 'APIConnectionError' | 'APIConnectionTimeoutError', ErrorClass>
>;
/** An error of the API as an SDK throws it; `error` is what the server sent of it. */
type ApiError = Error & {
  readonly status?: number;
  readonly headers?: Headers;
  readonly code?: unknown;
  readonly param?: unknown;
  readonly type?: unknown;
  readonly error?: unknown;
};

/** The report for an error that the SDK threw, or that reading the body did. */
export function requestFailure(error: unknown, sdk: ErrorClasses, facts: FailureFacts): RequestFailure {
  const root = rootCause(error);
  if (root instanceof NotTheApi) return { ...outage(`${facts.shown} ${root.message}`), unbilled: true };
  if (root instanceof Redirected) return { ...config(`${facts.shown} ${root.message}`), unbilled: true };
  if (root instanceof ProxyTrouble) {
    const reason = `${facts.shown} cannot be reached: ${root.message}`;
    const failure = root.kind === 'down' ? outage(reason) : config(reason, proxyPark[root.kind]);
    return { ...failure, unbilled: true };
  }
  if (error instanceof sdk.APIConnectionError) {
    const why = words(root);
    const reason = `${facts.shown} cannot be reached: ${why}`;
    if (!isNetworks(root) && !(error instanceof sdk.APIConnectionTimeoutError))
      return { ...passing(reason), unbilled: true };
    const isUnreached = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT/i.test(
      why,
    );
    return { ...outage(reason), ...(isUnreached ? { unbilled: true } : { lost: true }) };
  }
  if (error instanceof sdk.APIError) {
    const reported = reportedIn(error);
    const { status, headers } = error as ApiError;
    if (status !== undefined && headers !== undefined) return refusal(reported, status, headers, facts);
    // An error event within a stream.
    return faultFailure(reported, facts);
  }
  return lost(`the answer from ${facts.shown} was cut: ${words(root)}`);
}

/** A refusal needs a person, and meets other runs, too. */
const proxyPark = { refusal: 'auth', variable: undefined } as const;

type Reported = { readonly code: string; readonly message: string; readonly param: string };

/** What an error says. Of Anthropic's SDK the error is within the body that the server sent, and its message is all of that. */
function reportedIn(error: ApiError): Reported {
  const body = error.error as { readonly error?: { readonly [key: string]: unknown } } | null | undefined;
  const inner = typeof body?.error === 'object' && body.error !== null ? body.error : {};
  const words = [error.code, inner['code'], error.type, inner['type']];
  const code = words.find((word) => (typeof word === 'string' && word !== '') || typeof word === 'number');
  const status = error.status === undefined ? '' : `${error.status} `;
  const text = inner['message'];
  return {
    code: String(code ?? ''),
    message: typeof text === 'string' ? `${status}${text}` : error.message,
    param: textWord(error.param ?? inner['param']),
  };
}

const textWord = (value: unknown): string => (typeof value === 'string' ? value : '');

function refusal(
  { code, message, param }: Reported,
  status: number,
  headers: Headers,
  facts: FailureFacts,
): RequestFailure {
  const isOfRequest = status === 400 || status === 422;
  const reason = oneLine(message);
  const trouble = troubleBy(status, code, reason, facts) ?? notAccepted(reason, facts);
  const retryAfterMs = askedWait(headers, facts.clock) ?? trouble.report.retryAfterMs;
  // The wait that comes with a rate limit is when the quota is there again.
  const park: Park | undefined =
    status === 429 && retryAfterMs !== undefined && trouble.report.park?.kind !== 'billing'
      ? { kind: 'quota', wakeAtMs: facts.clock.now().getTime() + retryAfterMs }
      : trouble.report.park;
  const isTooLong = status === 413 || (isOfRequest && tooLong.test(`${code} ${message}`));
  const refuses = isOfRequest && !isTooLong ? partsIn(param, message) : [];
  return {
    ...trouble,
    ...(isTooLong ? { tooLong: true } : {}),
    status,
    unbilled: true,
    again: headers.get('x-should-retry') === 'false' ? false : trouble.again,
    ...(refuses.length === 0 ? {} : { refuses }),
    ...(unknownPath.includes(status) && code !== 'model_not_found' ? { noPath: true } : {}),
    report: {
      ...trouble.report,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(park === undefined ? {} : { park }),
    },
  };
}

/** Statuses of a server that does not have the path of an API. */
const unknownPath: readonly number[] = [404, 405, 501];

/** Words by which servers name a part that they do not accept. */
const parts: readonly (readonly [Part, RegExp])[] = [
  ['stream_options', /\bstream_options\b/i],
  ['summary', /\bsummar(?:y|ies)\b/i],
  [
    'schema',
    /\b(?:response_format|json_schema|text\.format|output_config(?!\.effort)|output_format|structured[ _]outputs?|grammar)\b/i,
  ],
  ['temperature', /\btemperature\b/i],
  ['background', /\bbackground\b/i],
  ['sealed', /\b(?:include|encrypted|store)\b/i],
  ['cache', /\bcache_control\b/i],
  ['thinking', /\bthinking\b/i],
  [
    'effort',
    /\breasoning(?:[._ ]?effort)?\b(?![._ ]summar)|\boutput_config\b(?!\.format)|\beffort\b|\bthinking\b/i,
  ],
  ['stream', /\bstream(?:ing)?\b/i],
];
/** OpenAI's code, and the words of other servers for a prompt beyond the model's context. */
const tooLong =
  /context_length_exceeded|context (?:length|window|size)|maximum context|(?:prompt|input|request) (?:is )?too (?:long|large)|too many tokens/i;

/** The parts that a refusal names. The parameter that it points at comes first: its message may mention others. */
const partsIn = (param: string, message: string): readonly Part[] => [
  ...new Set(
    [param, message].flatMap((text) => parts.flatMap(([part, named]) => (named.test(text) ? [part] : []))),
  ),
];

/** A connection that broke, or brought no answer. */
export const lost = (reason: string): RequestFailure => ({ ...passing(reason), lost: true });

const passing = (reason: string): RequestFailure => ({ report: api('infra', reason), again: true });

/** The provider is down, overloaded or out of reach: the same request succeeds once it is back. */
const outage = (reason: string): RequestFailure => ({
  report: { ...api('infra', reason), park: { kind: 'outage' } },
  again: true,
});

/** The server's final word on this prompt, which is no answer. */
export const finalFailure = (reason: string): RequestFailure => ({
  report: api('agent', reason),
  again: false,
});

/** An error that the server put into an answer it had begun. */
export function faultFailure(
  fault: Readonly<Partial<Record<'code' | 'type' | 'message', string | null | undefined>>> | null | undefined,
  facts: FailureFacts,
): RequestFailure {
  // Some servers have an HTTP status as the code, also as a number.
  const code = String(fault?.code ?? fault?.type ?? '');
  const message = oneLine(String(fault?.message ?? (code === '' ? 'no reason given' : code)));
  const status = /^[45]\d\d$/.test(code) ? Number(code) : undefined;
  const known = troubleBy(status, code, message, facts);
  if (known !== undefined) return known;
  if (status !== undefined) return notAccepted(message, facts);
  if (code === '') return finalFailure(`${facts.shown} ended the answer as failed: ${message}`);
  return config(`${facts.shown} does not answer this prompt (${code}): ${message}`);
}

/** Also `billing_not_active`, `billing_hard_limit_reached`: they come with any status. */
const unpaid = /^(?:insufficient_quota|billing_\w+)$/;
/** Anthropic's words for the same, which come as an invalid request. */
const noCredit = /\bcredit balance is too low\b/i;
const overloaded = /^(?:(?:server_|engine_)?overloaded(?:_error)?|slow_down|service_unavailable)$/;
const broken = /^(?:server_error|internal_error|vector_store_timeout|api_error|timeout_error)$/;

const refusedKey = /^(?:invalid_api_key|authentication_error|permission_error)$/;

/** The meaning of statuses and of the API's error codes; undefined for any other. */
function troubleBy(
  status: number | undefined,
  code: string,
  message: string,
  facts: FailureFacts,
): RequestFailure | undefined {
  const { model, shown, server } = facts;
  if (unpaid.test(code) || status === 402 || noCredit.test(message)) {
    const reason = `the quota of the key at ${shown} is used up (${message}): check its plan and billing`;
    return { report: { ...api('infra', reason), park: { kind: 'billing' } }, again: false };
  }
  if (status === 403 && code === webPage)
    return config(`the request was refused at ${shown}, or by a proxy before it (${message})`, 'auth');
  if (status === 401 || status === 403 || refusedKey.test(code))
    return config(
      `the key was refused by ${shown} (${message}): ${keyWords(server)} that may use "${model}" there`,
      'auth',
    );
  if (status === 404 || code === 'model_not_found')
    return config(
      `model "${model}" was not found at ${shown} (${message}): check the name (llm_model, --model, FACTORY_MODEL) ` +
        `and ${baseUrlWords(server)}`,
    );
  if (status === 429 || /^rate_limit_(?:exceeded|error)$/.test(code) || /rate limit/i.test(message))
    return limited(message, facts);
  const trouble = `${shown} is in trouble (${message})`;
  const failed = (status ?? 0) >= 500;
  if (isDown(status ?? 0) || overloaded.test(code) || (failed && code === webPage)) return outage(trouble);
  // What a server has not implemented it will not have a moment later.
  if (status === 501) return { ...passing(trouble), again: false };
  if (status === 409 || failed || broken.test(code)) return passing(trouble);
  return undefined;
}

/** What to do about a key that is refused. */
function keyWords(server: ModelServer): string {
  const names = server.keyVariable === undefined ? variablesToAsk(server) : [server.keyVariable];
  return names.length === 0
    ? 'name the variable of its key in your factory.json, and set it to one'
    : `set ${names.join(' and ')} to a key`;
}

const notAccepted = (message: string, { shown, model }: FailureFacts): RequestFailure =>
  config(`${shown} does not accept the request for "${model}": ${message}`);

const config = (reason: string, kind?: Park['kind']): RequestFailure => ({
  report: { ...api('config', reason), ...(kind === undefined ? {} : { park: { kind } }) },
  again: false,
});

function limited(message: string, { shown, clock }: FailureFacts): RequestFailure {
  const now = clock.now();
  const wait = waitNamed(message, now);
  return {
    report: {
      ...api('infra', `too many requests for ${shown} (${message})`),
      ...(wait === undefined
        ? { park: { kind: 'quota', unsaid: true } }
        : { park: { kind: 'quota', wakeAtMs: now.getTime() + wait }, retryAfterMs: wait }),
    },
    again: true,
  };
}

const api = (failureClass: FailedReport['class'], reason: string): FailedReport => ({
  kind: 'failed',
  class: failureClass,
  reason,
  model: 'api',
});

/** The wait that the server asks for, in milliseconds: `Retry-After` in seconds, or as a date by the server's own clock
 *  where it gives it; else the longest reset of a limit that is used up. */
function askedWait(headers: Headers, clock: Clock): number | undefined {
  const value = (name: string) => headers.get(name)?.trim() || undefined;
  const ms = Number(value('retry-after-ms'));
  const after = value('retry-after');
  const now = Date.parse(value('date') ?? '') || clock.now().getTime();
  const resets = ['requests', 'tokens'].flatMap((limit) => {
    const reset = waitNamed(`try again in ${value(`x-ratelimit-reset-${limit}`)}`, clock.now());
    const isUsedUp = Number(value(`x-ratelimit-remaining-${limit}`) ?? 0) <= 0;
    return reset !== undefined && isUsedUp ? [reset] : [];
  });
  const waits = [ms, Number(after) * 1000, Date.parse(after ?? '') - now, Math.max(...resets)];
  const wait = waits.find(Number.isFinite);
  return wait === undefined ? undefined : Math.max(0, wait);
}

/** Whether the network, or a server that hung up, is the cause. Waiting does not help where it is not: a certificate, an address
 *  that cannot be. */
const isNetworks = (root: unknown): boolean =>
  root instanceof Error &&
  'code' in root &&
  /^(?:E(?!RR_|PROTO)[A-Z_]+|UND_ERR_\w+)$/.test(String(root.code));

function words(root: unknown): string {
  if (!(root instanceof Error)) return oneLine(String(root));
  const code = 'code' in root && typeof root.code === 'string' ? root.code : '';
  const text = root.message || root.name;
  return oneLine(code === '' || text.includes(code) ? text : `${text} (${code})`);
}

/** One line of at most 500 characters. */
function oneLine(text: string): string {
  const line = [...text.replace(/\s+/g, ' ').trim()];
  return line.length > 500 ? `${line.slice(0, 500).join('')}…` : line.join('');
}

/* Web pages in place of answers: of a gateway, a proxy or a login. */

/** The error code of a page that came with an error status. */
export const webPage = 'factory_web_page';

/** What a page says, in a few words; undefined for a text that is no web page. */
export function pageIn(text: string, type: string): string | undefined {
  if (!/\bhtml\b/i.test(type) && !/^\s*(?:<!doctype html|<html|<head|<body)\b/i.test(text)) return undefined;
  const found = /<title\b[^>]*>([^<]*)/i.exec(text) ?? /<h1\b[^>]*>([^<]*)/i.exec(text);
  const sentence = plain(found?.[1] ?? '') || plain(text.slice(0, 10_000).replace(/<[^>]*>?/g, ' '));
  return sentence === '' ? 'a web page' : `a web page, "${sentence.slice(0, 120)}"`;
}

const plain = (text: string): string => text.replace(/\s+/g, ' ').trim();
