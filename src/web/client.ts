/** A client of the HTTP API for programs: one typed function per endpoint. */
import type * as z from 'zod';
import type { RunList, StoredEvent } from '../app/answers.ts';
import type { RunRow } from '../app/inspect/run-row.ts';
import { apiErrorSchema, type ShownLive } from './contract.ts';
import { type ApiRoute, type ApiRouteName, routes } from './routes.ts';

export type ClientOptions = {
  /** Of the server, such as `http://127.0.0.1:4477`; a token in it counts, as in the address that `serve` prints. */
  readonly url: string;
  readonly token?: string;
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch;
};

/** The server refused. `code` is one of docs/api.md. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';
  readonly status: number;
  readonly code: string;
  readonly fix: string;
  constructor(
    status: number,
    error: { readonly code: string; readonly message: string; readonly fix: string },
  ) {
    super(error.message);
    this.status = status;
    this.code = error.code;
    this.fix = error.fix;
  }
}

/** A message of a stream. */
export type StreamMessage =
  | { readonly event: 'runs'; readonly data: RunList }
  | { readonly event: 'run'; readonly data: RunRow }
  | { readonly event: 'gone'; readonly data: { readonly run_id: string } }
  | { readonly event: 'event'; readonly data: StoredEvent; readonly id: number }
  | { readonly event: 'ready'; readonly data: { readonly last: number } }
  | { readonly event: 'live'; readonly data: ShownLive };

type Part<R, K extends string, Optional extends boolean = false> = R extends {
  readonly [key in K]: () => infer S extends z.ZodType;
}
  ? Optional extends true
    ? { readonly [key in K]?: Partial<z.output<S>> }
    : { readonly [key in K]: K extends 'body' ? z.input<S> : z.output<S> }
  : unknown;
type Call<R> = Part<R, 'params'> & Part<R, 'query', true> & Part<R, 'body'>;
type Result<R> = R extends { readonly answers: () => infer S extends z.ZodType }
  ? Promise<z.output<S>>
  : R extends { readonly answers: 'text/event-stream' }
    ? AsyncIterable<StreamMessage>
    : Promise<string>;
type More = { readonly signal?: AbortSignal };

/** One function per endpoint; each rejects with an `ApiFailure`. Streams begin when they are iterated, and end with `signal`, with
 *  the server, or when the loop is left; they do not connect again by themselves (`query: { after: seq }`). */
export type ApiClient = {
  readonly [N in ApiRouteName]: Record<string, never> extends Call<(typeof routes)[N]>
    ? (call?: Call<(typeof routes)[N]> & More) => Result<(typeof routes)[N]>
    : (call: Call<(typeof routes)[N]> & More) => Result<(typeof routes)[N]>;
};

export function createClient(options: ClientOptions): ApiClient {
  const entries = Object.entries(routes).map(([name, route]) => [
    name,
    (call: AnyCall = {}) =>
      route.answers === 'text/event-stream' ? streamOf(options, route, call) : answerOf(options, route, call),
  ]);
  return Object.fromEntries(entries) as ApiClient;
}

type AnyCall = More & {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
};

async function answerOf(options: ClientOptions, route: ApiRoute, call: AnyCall): Promise<unknown> {
  const response = await send(options, route, call);
  return typeof route.answers === 'string' ? response.text() : route.answers().parse(await response.json());
}

/** Sends a request; rejects unless it succeeds. */
async function send(options: ClientOptions, route: ApiRoute, { params, query, body, signal }: AnyCall) {
  const base = new URL(options.url);
  const token = options.token ?? base.searchParams.get('token') ?? '';
  const url = new URL(filled(route.path, params ?? {}), base.origin);
  for (const [name, value] of Object.entries(query ?? {}))
    if (value !== undefined) url.searchParams.set(name, String(value));
  const request = options.fetch ?? globalThis.fetch;
  const response = await request(url, {
    method: route.method.toUpperCase(),
    headers: {
      Authorization: `Bearer ${token}`,
      ...(route.body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(route.body === undefined ? {} : { body: JSON.stringify(body ?? {}) }),
    ...(signal === undefined ? {} : { signal }),
  });
  if (response.ok) return response;
  const error = apiErrorSchema().safeParse(await response.json().catch(() => undefined));
  const unknown = { code: 'unknown', message: `the server answered ${response.status}`, fix: '' };
  throw new ApiFailure(response.status, error.success ? error.data : unknown);
}

/** The path with its parameters; slashes of the last one separate folders. */
const filled = (path: string, params: Readonly<Record<string, unknown>>): string =>
  path
    .replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name])))
    .replace('*', () => String(params['name']).split('/').map(encodeURIComponent).join('/'));

async function* streamOf(
  options: ClientOptions,
  route: ApiRoute,
  call: AnyCall,
): AsyncGenerator<StreamMessage> {
  const { body } = await send(options, route, call);
  if (body === null) return;
  let rest = '';
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    const messages = (rest + piece).split('\n\n');
    rest = messages.pop() ?? '';
    for (const one of messages) {
      const read = messageIn(one);
      if (read !== undefined) yield read;
    }
  }
}

/** A message of the stream; undefined for a comment or a setting. */
function messageIn(text: string): StreamMessage | undefined {
  const fields = new Map(text.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]));
  const data = fields.get('data');
  if (data === undefined) return undefined;
  const id = fields.get('id');
  // The server writes these messages, as docs/api.md lists them.
  return {
    event: fields.get('event'),
    data: JSON.parse(data),
    ...(id === undefined ? {} : { id: Number(id) }),
  } as StreamMessage;
}
