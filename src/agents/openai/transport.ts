/** The connection to the server: the SDK's client, with a `fetch` that notices every byte and lets only events through
 *  that the SDK can read. */
import type { ClientOptions, OpenAI } from 'openai';
import { mostGivenLevels, parseJson } from '../../model/json.ts';
import { type Arrived, type Exchange, failed, tooLarge } from './answer.ts';
import { NotTheApi, rootCause, TooLarge, troubleOf } from './failure.ts';
import type { Request } from './request.ts';
import type { Watch } from './watch.ts';

/** Bytes of an error's body that are read. */
const mostOfError = 256 * 1024;
/** Milliseconds: the longest that a timer of Node takes. */
const longestTimer = 2 ** 31 - 1;

/** Sends one request and reads its answer with `read`. Whatever goes wrong becomes an exchange of the kind `trouble`;
 *  `arrived` is what had come by then. Never rejects. */
export async function exchange(
  request: Request,
  watch: Watch,
  sent: { readonly path: string; readonly body?: object; readonly stream?: boolean },
  arrived: () => Arrived,
  read: (client: OpenAI) => Promise<Exchange>,
): Promise<Exchange> {
  const openai = await import('openai');
  const ear = watch.listen(request.idleMs);
  if (sent.body !== undefined)
    request.record?.({ kind: 'request', to: `${request.shown}${sent.path}`, body: sent.body });
  const ended = async (): Promise<Exchange> => {
    try {
      return await read(clientFor(request, openai.OpenAI, ear.heard, sent.stream === true));
    } catch (error) {
      if (rootCause(error) instanceof TooLarge) return tooLarge(arrived(), request);
      return failed(troubleOf(error, openai, request), arrived());
    } finally {
      ear.end();
    }
  };
  const got = await ended();
  if (got.kind === 'trouble' && got.evidence === undefined)
    request.record?.({
      kind: 'trouble',
      reason: got.trouble.report.reason,
      status: got.trouble.status ?? null,
    });
  return got;
}

/** A client for a request of which nothing is read. */
export async function connect(request: Request): Promise<OpenAI> {
  const { OpenAI } = await import('openai');
  return clientFor(request, OpenAI, () => {}, false);
}

function clientFor(request: Request, Client: typeof OpenAI, heard: () => void, stream: boolean): OpenAI {
  // The query of a base URL belongs after the path of each request.
  const url = new URL(request.baseURL);
  const defaultQuery = Object.fromEntries(url.searchParams);
  url.search = '';
  url.hash = '';
  return new Client({
    apiKey: request.apiKey,
    adminAPIKey: null,
    baseURL: url.href,
    defaultQuery,
    // The SDK would wait for its retries on the real clock, as long as the server asks for, whatever aborts.
    maxRetries: 0,
    // A model may think long: silence ends a call (`Watch`), not its length.
    timeout: longestTimer,
    fetchOptions: withoutTimeouts(),
    logLevel: 'off',
    fetch: async (input, init) => {
      const response = await globalThis.fetch(input, init);
      heard();
      return readable(response, init?.signal, { heard, stream, limit: eventLimit(request) });
    },
  });
}

/** Characters of the longest event or body that is kept in memory; events repeat the answer in JSON. */
const eventLimit = ({ maxAnswerBytes }: Request): number => 3 * maxAnswerBytes + 1024 * 1024;

type Dispatch = (options: object, handler: unknown) => boolean;

/** Node's fetch gives up on a body that is silent for five minutes, and a model may think longer. Without the global
 *  dispatcher (another runtime) fetch keeps its limits. */
function withoutTimeouts(): NonNullable<ClientOptions['fetchOptions']> {
  // Reading any part of fetch loads it, which sets the dispatcher.
  if (typeof Headers !== 'function') return {};
  const known: unknown = Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1'));
  if (typeof known !== 'object' || known === null || !('dispatch' in known)) return {};
  const inner = known as { dispatch: Dispatch };
  const dispatch: Dispatch = (options, handler) =>
    inner.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler);
  // Of a dispatcher's many methods fetch uses this one.
  return { dispatcher: { dispatch } } as object;
}

type Reading = { readonly heard: () => void; readonly stream: boolean; readonly limit: number };

/** The response with a body that the SDK reads without loss. */
async function readable(
  response: Response,
  signal: AbortSignal | null | undefined,
  { heard, stream, limit }: Reading,
): Promise<Response> {
  const { status, headers, body } = response;
  if (body === null) return response;
  const bytes = chunks(body, signal, heard);
  if (!response.ok) return new Response(errorBody(await textOf(bytes, mostOfError)), { status, headers });
  const type = headers.get('content-type') ?? '';
  if (stream && type !== '' && !/\b(?:json|html)\b/i.test(type)) {
    const events = ReadableStream.from(jsonEvents(bytes, limit)) as ReadableStream<Uint8Array>;
    return new Response(events, { status, headers });
  }
  const value = parsed(await textOf(bytes, limit, 'whole'));
  if (typeof value !== 'object' || value === null)
    throw new NotTheApi(`answered with ${type || 'no content type'}, which is no answer of the API`);
  // Some servers do not stream: their whole answer becomes the only event. It is paid for.
  return stream
    ? new Response(event(value), { status, headers })
    : new Response(JSON.stringify(value), { status, headers: { 'content-type': 'application/json' } });
}

/** The chunks of a body. Ends with `signal`, also where fetch does not: a body that is not compressed as it claims. */
async function* chunks(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | null | undefined,
  heard: () => void,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  const stop = () => void reader.cancel().catch(() => {});
  signal?.addEventListener('abort', stop, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      heard();
      yield value;
    }
    signal?.throwIfAborted();
  } finally {
    signal?.removeEventListener('abort', stop);
    stop();
  }
}

/** The text of a body. Beyond `limit` characters a `whole` one is an error, another one is cut. */
async function textOf(bytes: AsyncIterable<Uint8Array>, limit: number, whole?: 'whole'): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of bytes) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length <= limit) continue;
    if (whole !== undefined) throw new TooLarge();
    break;
  }
  return text;
}

/** An error in the form of the API, of which alone the SDK reads the message: some servers leave out the `error` around
 *  it. */
function errorBody(text: string): string {
  const value = parsed(text);
  const isOther = typeof value === 'object' && value !== null && !('error' in value);
  return isOther ? JSON.stringify({ error: { message: text } }) : text;
}

/** The `data` lines that are JSON, one event each, up to `[DONE]`. The SDK would give the whole stream up for one line
 *  of noise. A server spells its lines in one way: a line with another number of blanks is noise. */
async function* jsonEvents(bytes: AsyncIterable<Uint8Array>, limit: number): AsyncGenerator<Uint8Array> {
  let spelling: string | undefined;
  for await (const line of linesOf(bytes, limit)) {
    const [, own, data = ''] = /^(data: ?)(.*)$/s.exec(line) ?? [];
    if (own === undefined) continue;
    spelling ??= own;
    if (data.trim() === '[DONE]') return;
    const value = own === spelling ? parsed(data) : undefined;
    if (value !== undefined) yield event(value);
  }
}

const event = (value: unknown): Buffer<ArrayBuffer> => Buffer.from(`data: ${JSON.stringify(value)}\n\n`);

async function* linesOf(bytes: AsyncIterable<Uint8Array>, limit: number): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pending = '';
  for await (const chunk of bytes) {
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split(/\r\n|\n|\r/);
    pending += first;
    if (pending.length > limit) throw new TooLarge();
    for (const next of others) {
      yield pending;
      pending = next;
    }
  }
  yield pending;
}

function parsed(text: string): unknown {
  try {
    return parseJson(text, mostGivenLevels);
  } catch {
    return undefined;
  }
}
