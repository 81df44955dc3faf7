/** The package's client, set up so that time and retries are ours; and what is sent through it. */
import type { ClientOptions, OpenAI } from 'openai';
import type { JsonObject } from '../../model/json.ts';
import type { Clock } from '../../system/clock.ts';
import type { ExchangeItem } from '../agent.ts';
import { followed } from './redirects.ts';
import { inputOf, type Talk, toolsOf } from './talk.ts';
import { asJson } from './transcript.ts';

export type Package = typeof import('openai');

/** One prompt for one budget, and the limits of its exchange. */
export type Request = {
  readonly apiKey: string;
  readonly baseURL: string;
  /** The base URL as it may be shown. */
  readonly shown: string;
  readonly model: string;
  readonly effort: string | undefined;
  /** The server tells nobody of us what its models think. */
  readonly noSummary?: boolean;
  readonly temperature: number | undefined;
  /** Tokens. */
  readonly budget: number;
  readonly prompt: string;
  /** Whether `budget` is a limit that somebody set, and no server may be left to its own. */
  readonly capped?: boolean;
  /** The tool loop: what was said since the prompt, and what the model may call. */
  readonly talk?: Talk;
  readonly schema: { readonly name: string; readonly schema: JsonObject } | undefined;
  readonly idleMs: number;
  /** Milliseconds without an event after which an answer over chat completions that has its end is over. */
  readonly lullMs: number;
  readonly maxAnswerBytes: number;
  /** Tries after the first one, and what they may wait in all; each way of asking has its own. */
  readonly maxRetries: number;
  readonly maxWaitMs: number;
  /** The longest single wait that a server may ask for. */
  readonly parkAfterMs?: number;
  /** Milliseconds before the second try where the server asks for none; doubled from try to try. */
  readonly firstRetryMs: number;
  /** Milliseconds between two looks at an answer in the background, and for all of them. */
  readonly pollMs: number;
  readonly pollDeadlineMs: number;
  readonly clock: Clock;
  /** Told of requests and of what comes back. */
  readonly record?: (item: ExchangeItem) => void;
};

export function clientFor(request: Request, openai: Package): OpenAI {
  return new openai.OpenAI({
    apiKey: request.apiKey,
    adminAPIKey: null,
    ...addressOf(request.baseURL),
    // The package's own retries wait as long as the server likes, on the real clock, and no abort ends the wait.
    maxRetries: 0,
    timeout: 2 ** 31 - 1,
    logLevel: 'off',
    fetch: inShort(request.clock),
  });
}

/** A base URL without its query, which belongs behind the path of each request: the package would put the path behind the
 *  query. */
function addressOf(baseURL: string): Pick<ClientOptions, 'baseURL' | 'defaultQuery'> {
  const url = new URL(baseURL);
  const defaultQuery = Object.fromEntries(url.searchParams);
  url.search = '';
  url.hash = '';
  return { baseURL: url.href, defaultQuery };
}

/** Bytes of a refusal that are read, and milliseconds that it may take: the package reads it to its end, which need not
 *  come. */
const refusal = { most: 256 * 1024, ms: 120_000 } as const;

/** Node's fetch, but of an answer that is an error no more than the beginning. */
function inShort(clock: Clock): typeof fetch {
  return async (url, init) => {
    const response = await followed(url, init);
    const { ok, status, statusText, headers, body } = response;
    if (ok || body === null || status > 599) return response;
    const reader = body.getReader();
    const over = new AbortController();
    const ends = AbortSignal.any([over.signal, ...(init?.signal == null ? [] : [init.signal])]);
    const late = clock.sleep(refusal.ms, ends).then(() => reader.cancel());
    late.catch(() => {});
    const pieces: Uint8Array[] = [];
    let size = 0;
    try {
      while (size < refusal.most) {
        const { done, value } = await reader.read();
        if (done) break;
        pieces.push(value);
        size += value.length;
      }
    } catch {
      // What had come says enough.
    }
    over.abort();
    return new Response(size === 0 ? null : inForm(Buffer.concat(pieces)), { status, statusText, headers });
  };
}

/** A refusal in the form of the API, of which alone the package tells what it says: vLLM and gateways leave out the `error`
 *  around it, and Gemini puts it into a list. */
function inForm(body: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> | string {
  const said = asJson(body.toString());
  if (Array.isArray(said)) return said[0] === undefined ? body : JSON.stringify(said[0]);
  const isBare = typeof said === 'object' && said !== null && 'message' in said && !('error' in said);
  return isBare ? JSON.stringify({ error: said }) : body;
}

/** The body of a request, but for the way in which the answer shall come. */
export const bodyFor = (request: Request) => ({
  model: request.model,
  ...(request.talk === undefined ? { input: request.prompt } : talkBody(request, request.talk)),
  max_output_tokens: request.budget,
  ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
  ...(request.effort === undefined
    ? {}
    : // The server knows which efforts its model has, and says so.
      {
        reasoning: {
          effort: request.effort as 'medium',
          ...(request.noSummary === true ? {} : { summary: 'auto' as const }),
        },
      }),
  ...(request.schema === undefined
    ? {}
    : {
        text: {
          // Strict mode takes only a subset of JSON Schema.
          format: {
            type: 'json_schema' as const,
            name: request.schema.name,
            schema: request.schema.schema,
            strict: false,
          },
        },
      }),
});

/** The server keeps nothing: each request has all that was said, with what the model thought as the server sealed it. */
function talkBody({ prompt }: Request, talk: Talk): object {
  return {
    instructions: talk.instructions,
    input: inputOf(prompt, talk),
    ...(talk.tools.length === 0 ? {} : { tools: toolsOf(talk.tools) }),
    ...(talk.plain ? {} : { store: false, include: ['reasoning.encrypted_content'] }),
  };
}

/** Characters of the longest event or body that is kept in memory. */
export const readLimit = (request: Request): number => 3 * request.maxAnswerBytes + 1024 * 1024;

type Dispatch = (options: object, handler: unknown) => boolean;
type FetchOptions = NonNullable<ClientOptions['fetchOptions']>;

/** Node's fetch gives up on a body that is silent for five minutes; a model may think longer, and the watch has its
 *  own idea of silence. Without the global dispatcher (another runtime) fetch keeps its limits. */
export function patient(): FetchOptions {
  // Reading any part of fetch loads it, which sets the dispatcher.
  if (typeof Headers !== 'function') return {};
  const known: unknown = Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1'));
  if (typeof known !== 'object' || known === null || !('dispatch' in known)) return {};
  const inner = known as { dispatch: Dispatch };
  const dispatch: Dispatch = (options, handler) =>
    inner.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler);
  // Of a dispatcher's many methods fetch uses this one.
  return { dispatcher: { dispatch } } as object as FetchOptions;
}

/** The body of an answer as bytes; undefined when there is none. Ends with `signal`, also where fetch does not: it never
 *  settles for a body that says it is compressed, and is not. */
export function bytesOf(response: Response, signal: AbortSignal): AsyncIterable<Uint8Array> | undefined {
  return response.body === null ? undefined : read(response.body, signal);
}

async function* read(body: NonNullable<Response['body']>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  const stop = () => void reader.cancel().catch(() => {});
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      yield value;
    }
    signal.throwIfAborted();
  } finally {
    signal.removeEventListener('abort', stop);
    // Nobody waits for a connection to close that may never say that it has.
    stop();
  }
}
