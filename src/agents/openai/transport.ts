/** The connection to the server: the SDK's client, with a `fetch` that notices every byte and brings what servers send in
 *  place of events or errors into the form that the SDK reads. */
import { mostGivenLevels, parseJson } from '../../core/json.ts';
import type { ModelServer } from '../../core/model-server.ts';
import { outgoing, rootCause } from '../../platform/outgoing.ts';
import { type Arrived, failedResponse, type ModelResponse, responseTooLarge } from './answer.ts';
import {
  type ErrorClasses,
  NotTheApi,
  pageIn,
  Redirected,
  requestFailure,
  TooLarge,
  webPage,
} from './failure.ts';
import type { Request } from './request.ts';
import { baseUrlWords, showURL } from './settings.ts';
import type { Watch } from './watch.ts';

/** Milliseconds: the longest that a timer of Node takes. */
const longestTimer = 2 ** 31 - 1;

/** An SDK: its classes of errors, and the client of one request. */
export type Sdk<Client> = {
  readonly errors: ErrorClasses;
  readonly client: (request: Request, wire: Wire) => Client;
};

/** Sends one request and reads its answer with `read`. Whatever goes wrong becomes an exchange of the kind `trouble`;
 *  `arrived` is what had come by then. Never rejects. */
export async function exchangeBy<Client>(
  load: () => Promise<Sdk<Client>>,
  request: Request,
  watch: Watch,
  sent: { readonly path: string; readonly body?: object; readonly stream?: boolean },
  arrived: () => Arrived,
  read: (client: Client) => Promise<ModelResponse>,
): Promise<ModelResponse> {
  const sdk = await load();
  const ear = watch.listen(request.idleMs);
  if (sent.body !== undefined)
    request.record?.({ kind: 'request', to: `${request.shown}${sent.path}`, body: sent.body });
  const ended = async (): Promise<ModelResponse> => {
    try {
      const got = read(sdk.client(request, wireFor(request, ear.heard, sent.stream === true)));
      // A body that is not compressed as it claims never ends, whatever aborts it.
      return await Promise.race([got, stoppedBy(watch.signal)]);
    } catch (error) {
      if (rootCause(error) instanceof TooLarge) return responseTooLarge(arrived(), request);
      return failedResponse(requestFailure(error, sdk.errors, request), arrived());
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

/** Rejects when the signal fires. */
const stoppedBy = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const stop = () => reject(new Error('stopped'));
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
  });

/** What the clients of all SDKs have in common for one request. */
export type Wire = ReturnType<typeof wireFor>;

/** `heard` is called with every chunk that comes back. */
export function wireFor(request: Request, heard: () => void, stream: boolean) {
  const { server } = request;
  // The query of a base URL belongs after the path of each request.
  const url = new URL(server.baseURL);
  const defaultQuery = Object.fromEntries(url.searchParams);
  url.search = '';
  url.hash = '';
  return {
    baseURL: url.href,
    defaultQuery,
    // The SDK would wait for its retries on the real clock, as long as the server asks for, whatever aborts.
    maxRetries: 0,
    // A model may think long: silence ends a call (`Watch`), not its length.
    timeout: longestTimer,
    logLevel: 'off' as const,
    fetch: async (input: string | URL | globalThis.Request, init?: RequestInit): Promise<Response> => {
      const response = await atServer(input, init, server);
      heard();
      return readable(response, { server, heard, stream, limit: eventLimit(request) });
    },
  };
}

const mostRedirects = 5;

/** The server's response. Only its own origin gets the request again: fetch would take keys in other headers than `authorization` to
 *  any server that a redirect names. */
async function atServer(
  input: string | URL | globalThis.Request,
  init: RequestInit | undefined,
  server: ModelServer,
): Promise<Response> {
  let url = new URL(input instanceof globalThis.Request ? input.url : input);
  for (let redirects = 0; ; redirects += 1) {
    const response = await outgoing(url, { ...init, redirect: 'manual' }, { patient: true });
    const location = response.headers.get('location');
    if (!redirecting.includes(response.status) || location === null) return response;
    await response.body?.cancel();
    const to = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
    // After other statuses fetch asks again without the body.
    const isSame = to?.origin === url.origin && (response.status >= 307 || (init?.method ?? 'GET') === 'GET');
    if (to === undefined || !isSame || redirects === mostRedirects) {
      const where = to === undefined ? 'an address that is no URL' : showURL(to.href);
      throw new Redirected(
        `redirects to ${where} (${response.status}), which gets no key and no prompt: if the server has moved, set ${baseUrlWords(server)}`,
      );
    }
    url = to;
  }
}

const redirecting: readonly number[] = [301, 302, 303, 307, 308];

/** An SDK reads headers for its provider from a variable: they are no other provider's to see. */
export const withoutHeadersIn = (variable: string): Readonly<Record<string, null>> =>
  Object.fromEntries(
    (process.env[variable] ?? '')
      .split('\n')
      .filter((line) => line.includes(':'))
      .map((line) => [line.slice(0, line.indexOf(':')).trim(), null]),
  );

/** Bytes of the longest event, or of a body of another kind. */
const eventLimit = ({ maxAnswerBytes }: Request): number => maxAnswerBytes + 1024 * 1024;

/** Servers call either plain text: an answer begins with a brace, and no event does. */
async function isJson(body: ReadableStream<Uint8Array>): Promise<boolean> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (let isDone = false; !isDone && text === ''; ) {
    const { done, value } = await reader.read();
    text = decoder.decode(value, { stream: true }).trimStart();
    isDone = done;
  }
  // It settles once the other copy of the body is read.
  void reader.cancel().catch(() => {});
  return text.startsWith('{');
}

/** The response as the SDK can read it; `heard` is called with every chunk of its body. */
async function readable(
  response: Response,
  {
    server,
    heard,
    stream,
    limit,
  }: {
    readonly server: ModelServer;
    readonly heard: () => void;
    readonly stream: boolean;
    readonly limit: number;
  },
): Promise<Response> {
  const { status, headers, body } = response;
  if (body === null) return response;
  const type = headers.get('content-type') ?? '';
  const mayBeEvents = response.ok && stream && type !== '' && !/\b(?:json|html)\b/i.test(type);
  const [first, whole] = mayBeEvents && !/event-stream/i.test(type) ? body.tee() : [undefined, body];
  const isEvents = mayBeEvents && !(first !== undefined && (await isJson(first)));
  const watched = new Response(whole.pipeThrough(watchedBytes(heard, limit, isEvents)), { status, headers });
  if (isEvents) return watched;
  const text = await watched.text();
  if (!response.ok) return new Response(errorBody(text, type), { status, headers });
  const value = parsed(text);
  if (typeof value !== 'object' || value === null) {
    const what = pageIn(text, type) ?? (type || 'no content type');
    throw new NotTheApi(
      `answered with ${what}, which is no answer of the API (if it stays so: ${baseUrlWords(server)})`,
    );
  }
  // Some servers do not stream: their whole answer becomes the only event. It is paid for.
  const isError = 'error' in value && value.error != null;
  const event = `event: ${isError ? 'error' : 'message'}\ndata: ${JSON.stringify(value)}\n\n`;
  return new Response(stream ? event : JSON.stringify(value), {
    status,
    headers: { 'content-type': stream ? 'text/event-stream' : 'application/json' },
  });
}

/** Passes a body on. More than `limit` bytes in one line of events, or in another body, are an error. The last event may
 *  lack the empty line that ends it. */
function watchedBytes(
  heard: () => void,
  limit: number,
  isEvents: boolean,
): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  return new TransformStream({
    transform(chunk, passed) {
      heard();
      const end = isEvents ? chunk.lastIndexOf(10) : -1;
      size = end < 0 ? size + chunk.length : chunk.length - end - 1;
      if (size > limit) throw new TooLarge();
      passed.enqueue(chunk);
    },
    flush(passed) {
      if (isEvents) passed.enqueue(Buffer.from('\n\n'));
    },
  });
}

/** An error in the form of the API, of which alone the SDK reads the message: some servers leave out the `error` around
 *  it. */
function errorBody(text: string, type: string): string {
  const value = parsed(text);
  const page = value === undefined ? pageIn(text, type) : undefined;
  if (page !== undefined) return JSON.stringify({ error: { message: page, code: webPage } });
  const isOther = typeof value === 'object' && value !== null && !('error' in value);
  return isOther ? JSON.stringify({ error: { message: text } }) : text;
}

function parsed(text: string): unknown {
  try {
    return parseJson(text, mostGivenLevels);
  } catch {
    return undefined;
  }
}
