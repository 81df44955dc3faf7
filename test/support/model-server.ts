/** A model server on loopback that speaks the Responses API and sends the answers of the test. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { endless, leave, reactInChat, said } from './model-chat.ts';
import { reactInMessages } from './model-messages.ts';

/** The APIs that the server can have: OpenAI's two, and Anthropic's Messages. */
export type SpokenApi = 'responses' | 'chat' | 'anthropic';

type Numbers = { readonly input_tokens?: number; readonly output_tokens?: number };

/** What one request gets. Requests with `stream: true` get events, others a JSON body. */
export type Reaction =
  | { readonly text: string; readonly reasoning?: readonly string[]; readonly usage?: Numbers | null }
  | { readonly json: unknown; readonly reasoning?: readonly string[]; readonly usage?: Numbers | null }
  | { readonly refusal: string }
  /** Calls of the tools that the request offers, in place of text. */
  | {
      readonly calls: readonly { readonly name: string; readonly arguments: object | string }[];
      readonly usage?: Numbers | null;
    }
  /** An answer that ran out of room (or ended for another `reason`) after `text`. */
  | {
      readonly incomplete: true;
      readonly text?: string;
      readonly reason?: string;
      readonly usage?: Numbers | null;
    }
  /** The model gave up: `response.failed`. */
  | { readonly failed: { readonly code?: string; readonly message?: string } }
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  /** A refusal whose body never ends: of many bytes, or of none. */
  | { readonly refuses: number; readonly endless: 'words' | 'silence' }
  /** Raw events: objects become `data:` lines, strings are sent as separate lines, promises are
   *  waited for. `after`: the connection is closed after them, or left open. */
  | { readonly events: readonly unknown[]; readonly after?: 'tear' | 'hang' }
  /** `text` in pieces; after `cutAfter` of them the connection is torn, or ended in order with `clean`. */
  | { readonly cutAfter: number; readonly clean?: boolean; readonly text?: string }
  /** Says nothing more: from the very start, or after the first piece of `text`. */
  | { readonly hang: true; readonly text?: string }
  /** Closes the connection without an answer. */
  | { readonly drop: true }
  /** An answer of that many bytes, in pieces of 64 KiB or in one event. */
  | { readonly huge: number; readonly inOneEvent?: boolean }
  /** Background: queued, then so many polls in progress, then the text. */
  | { readonly text: string; readonly polls: number };

export type ModelRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The JSON body; undefined when there is none. */
  readonly body: { readonly [key: string]: unknown } | undefined;
};

export interface ModelServer extends AsyncDisposable {
  /** For `OPENAI_BASE_URL`. */
  readonly url: string;
  /** In order of arrival, polls included. */
  readonly requests: readonly ModelRequest[];
  /** Settles once `count` requests have arrived. */
  arrived(count: number): Promise<void>;
  /** Settles once no request is being answered. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a server; `reactions` are taken in order, or made per request (`index` from 0). When they run out it
 *  answers 400. `speaks` names the APIs that it knows; others get 404. A poll of an answer that no reaction with `polls` has
 *  started takes a separate reaction. */
export async function startModelServer(
  reactions: Reactions,
  speaks: readonly SpokenApi[] = ['responses'],
): Promise<ModelServer> {
  const desk = new Desk(reactions, speaks);
  const changes = waiters();
  let open = 0;
  const server = createServer((incoming, out) => {
    open += 1;
    out.once('close', () => {
      open -= 1;
      changes.changed();
    });
    desk.answer(incoming, out, changes.changed).catch((error: unknown) => {
      if (!out.headersSent) sendJson(out, 500, { error: { message: String(error), code: 'test_server' } });
      else out.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // listening on a port, so it is no pipe's name
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests: desk.requests,
    arrived: (count) => changes.until(() => desk.requests.length >= count),
    idle: () => changes.until(() => open === 0),
    close,
    [Symbol.asyncDispose]: close,
  };
}

type Reactions =
  | readonly Reaction[]
  | ((request: ModelRequest, index: number) => Reaction | Promise<Reaction>);

/** Promises that settle when a condition holds; it is looked at again at each change. */
function waiters() {
  const all = new Set<() => void>();
  return {
    changed: (): void => {
      for (const waiter of all) waiter();
    },
    until: (met: () => boolean): Promise<void> =>
      new Promise((resolve) => {
        const look = () => {
          if (!met()) return;
          all.delete(look);
          resolve();
        };
        all.add(look);
        look();
      }),
  };
}

/** Takes the requests, and answers each by a reaction. */
class Desk {
  readonly requests: ModelRequest[] = [];
  readonly #reactions: Reactions;
  readonly #speaks: readonly SpokenApi[];
  readonly #background = new Map<string, { polls: number; text: string }>();
  #taken = 0;

  constructor(reactions: Reactions, speaks: readonly SpokenApi[]) {
    this.#reactions = reactions;
    this.#speaks = speaks;
  }

  async answer(incoming: IncomingMessage, out: ServerResponse, arrived: () => void): Promise<void> {
    const body = await bodyOf(incoming);
    const { method = '', url: path = '', headers } = incoming;
    const request: ModelRequest = { method, path, headers, body };
    this.requests.push(request);
    arrived();
    const polled = /^\/v1\/responses\/([^/?]+)/.exec(path)?.[1];
    if (method === 'GET' && polled !== undefined) return this.#poll(polled, request, out);
    const cancelled = /^\/v1\/responses\/([^/?]+)\/cancel$/.exec(path)?.[1];
    if (cancelled !== undefined)
      return sendJson(out, 200, { id: cancelled, object: 'response', status: 'cancelled', output: [] });
    const [place] = path.split('?');
    const chat = place === '/v1/chat/completions' && this.#speaks.includes('chat');
    const responses = place === '/v1/responses' && this.#speaks.includes('responses');
    const messages = place === '/v1/messages' && this.#speaks.includes('anthropic');
    if (method === 'POST' && (chat || responses || messages)) return this.#take(request, out);
    return sendJson(out, 404, { error: { message: `no ${method} ${path}`, code: 'not_found' } });
  }

  #poll(id: string, request: ModelRequest, out: ServerResponse): Promise<void> | void {
    const job = this.#background.get(id);
    if (job === undefined) return this.#take(request, out);
    job.polls -= 1;
    const going = { id, object: 'response', status: 'in_progress', output: [] };
    sendJson(out, 200, job.polls >= 0 ? going : whole(id, job.text));
  }

  async #take(request: ModelRequest, out: ServerResponse): Promise<void> {
    const { body } = request;
    const index = this.#taken;
    this.#taken += 1;
    const reactions = this.#reactions;
    const reaction = typeof reactions === 'function' ? await reactions(request, index) : reactions[index];
    const id = `resp_${index + 1}`;
    if (reaction === undefined) {
      const message = `no reaction for request ${index + 1}`;
      return sendJson(out, 400, { error: { message, code: 'script_ended' } });
    }
    if ('polls' in reaction) {
      this.#background.set(id, { polls: reaction.polls, text: reaction.text });
      return sendJson(out, 200, { id, object: 'response', status: 'queued', output: [] });
    }
    const asked = { stream: body?.['stream'] === true, model: String(body?.['model'] ?? 'test') };
    if (request.path === '/v1/chat/completions') return reactInChat(out, reaction, id, asked);
    if (request.path.startsWith('/v1/messages')) return reactInMessages(out, reaction, id, asked.model);
    return react(out, reaction, id, asked.stream, asked.model);
  }
}

async function react(
  out: ServerResponse,
  reaction: Reaction,
  id: string,
  stream: boolean,
  model: string,
): Promise<void> {
  if ('drop' in reaction) {
    out.destroy();
    return;
  }
  if ('status' in reaction) return sendJson(out, reaction.status, reaction.body ?? {}, reaction.headers);
  if ('refuses' in reaction) return endless(out, reaction.refuses, reaction.endless);
  if ('hang' in reaction && reaction.text === undefined) return;
  if (!stream) return sendJson(out, 200, plain(reaction, id, model));

  out.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  const send = sender(out);
  if ('events' in reaction) {
    for (const promised of reaction.events) {
      const event = await promised;
      if (typeof event === 'string') await said(out, `${event}\n`);
      else await send(event as object);
    }
    leave(out, reaction.after);
    return;
  }
  const started = { id, object: 'response', status: 'in_progress', model, output: [] };
  await send({ type: 'response.created', response: started });
  if ('failed' in reaction) {
    const error = { code: reaction.failed.code, message: reaction.failed.message };
    await send({ type: 'response.failed', response: { ...started, status: 'failed', error } });
    out.end();
    return;
  }
  const thoughts = 'reasoning' in reaction ? (reaction.reasoning ?? []) : [];
  if (thoughts.length > 0) await sendThoughts(send, thoughts, id);
  const index = thoughts.length > 0 ? 1 : 0;
  if ('calls' in reaction) await sendCalls(send, callsOf(reaction.calls, id));
  else if ('refusal' in reaction) {
    const at = { item_id: `msg_${id}`, output_index: index, content_index: 0 };
    await send({ type: 'response.refusal.delta', ...at, delta: reaction.refusal });
    await send({ type: 'response.refusal.done', ...at, refusal: reaction.refusal });
  } else return sendText(out, send, reaction, { id, index, model });
  await send({ type: 'response.completed', response: plain(reaction, id, model) });
  out.end();
}

type Send = (event: object) => Promise<void>;

function sender(out: ServerResponse): Send {
  let sequence = 0;
  return async (event) => {
    const { type } = event as { type?: string };
    const named = type === undefined ? '' : `event: ${type}\n`;
    const data = JSON.stringify({ ...event, sequence_number: sequence });
    sequence += 1;
    // Called back when the system has the bytes, or when the other side is gone.
    await new Promise<void>((resolve) => out.write(`${named}data: ${data}\n\n`, () => resolve()));
  };
}

async function sendThoughts(send: Send, thoughts: readonly string[], id: string): Promise<void> {
  const place = { item_id: `rs_${id}`, output_index: 0, summary_index: 0 };
  const item = { id: `rs_${id}`, type: 'reasoning', summary: [] };
  const part = { type: 'summary_text', text: '' };
  await send({ type: 'response.output_item.added', output_index: 0, item });
  await send({ type: 'response.reasoning_summary_part.added', ...place, part });
  for (const delta of thoughts)
    await send({ type: 'response.reasoning_summary_text.delta', ...place, delta });
  const text = thoughts.join('');
  await send({ type: 'response.reasoning_summary_text.done', ...place, text });
  const summary = [{ type: 'summary_text', text }];
  await send({ type: 'response.output_item.done', output_index: 0, item: { ...item, summary } });
}

async function sendCalls(send: Send, calls: ReturnType<typeof callsOf>): Promise<void> {
  for (const [n, call] of calls.entries()) {
    const item = { ...call, status: 'in_progress', arguments: '' };
    const place = { item_id: call.id, output_index: n };
    await send({ type: 'response.output_item.added', output_index: n, item });
    await send({ type: 'response.function_call_arguments.delta', ...place, delta: call.arguments });
    await send({ type: 'response.function_call_arguments.done', ...place, arguments: call.arguments });
    await send({ type: 'response.output_item.done', output_index: n, item: call });
  }
}

async function sendText(
  out: ServerResponse,
  send: Send,
  reaction: Reaction,
  { id, index, model }: { readonly id: string; readonly index: number; readonly model: string },
): Promise<void> {
  const text = textOf(reaction);
  const message = { id: `msg_${id}`, type: 'message', role: 'assistant' };
  const at = { item_id: message.id, output_index: index, content_index: 0 };
  const part = { type: 'output_text', text: '', annotations: [] };
  await send({
    type: 'response.output_item.added',
    output_index: index,
    item: { ...message, status: 'in_progress', content: [] },
  });
  await send({ type: 'response.content_part.added', ...at, part });
  const pieces =
    'huge' in reaction ? hugePieces(reaction.huge, reaction.inOneEvent === true) : piecesOf(text);
  let sent = 0;
  for (const delta of pieces) {
    if ('cutAfter' in reaction && sent === reaction.cutAfter) break;
    if (out.destroyed) return;
    await send({ type: 'response.output_text.delta', ...at, delta });
    sent += 1;
    if ('hang' in reaction) return;
  }
  if ('huge' in reaction || ('cutAfter' in reaction && reaction.clean === true)) {
    out.end();
    return;
  }
  if ('cutAfter' in reaction) {
    out.destroy();
    return;
  }
  const whole = { ...part, text };
  const status = 'incomplete' in reaction ? 'incomplete' : 'completed';
  await send({ type: 'response.output_text.done', ...at, text });
  await send({ type: 'response.content_part.done', ...at, part: whole });
  const item = { ...message, status, content: [whole] };
  await send({ type: 'response.output_item.done', output_index: index, item });
  await send({ type: `response.${status}`, response: plain(reaction, id, model) });
  out.end();
}

/** The response object that ends a stream, or is the body without one. */
function plain(reaction: Reaction, id: string, model: string): object {
  const usage = 'usage' in reaction ? reaction.usage : undefined;
  const base = {
    id,
    object: 'response',
    created_at: 0,
    model,
    status: 'completed',
    error: null,
    incomplete_details: null,
    ...(usage === null ? {} : { usage: { input_tokens: 11, output_tokens: 7, total_tokens: 18, ...usage } }),
  };
  const message = (part: object) => ({
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [part],
  });
  if ('failed' in reaction) return { ...base, status: 'failed', error: reaction.failed, output: [] };
  if ('calls' in reaction) return { ...base, output: callsOf(reaction.calls, id) };
  if ('refusal' in reaction)
    return { ...base, output: [message({ type: 'refusal', refusal: reaction.refusal })] };
  const reasoning =
    'reasoning' in reaction && reaction.reasoning !== undefined
      ? [
          {
            id: `rs_${id}`,
            type: 'reasoning',
            summary: [{ type: 'summary_text', text: reaction.reasoning.join('') }],
          },
        ]
      : [];
  const output = [...reasoning, message({ type: 'output_text', text: textOf(reaction), annotations: [] })];
  return 'incomplete' in reaction
    ? {
        ...base,
        status: 'incomplete',
        incomplete_details: { reason: reaction.reason ?? 'max_output_tokens' },
        output,
      }
    : { ...base, output };
}

const callsOf = (
  calls: readonly { readonly name: string; readonly arguments: object | string }[],
  id: string,
) =>
  calls.map((call, n) => ({
    id: `fc_${id}_${n}`,
    type: 'function_call',
    status: 'completed',
    call_id: `call_${id}_${n}`,
    name: call.name,
    arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
  }));

const whole = (id: string, text: string): object => plain({ text }, id, 'test');

function textOf(reaction: Reaction): string {
  if ('json' in reaction) return JSON.stringify(reaction.json);
  if ('huge' in reaction) return 'x'.repeat(reaction.huge);
  return 'text' in reaction ? (reaction.text ?? '') : 'an answer in a few pieces';
}

/** Words with the blanks after them, at most a hundred pieces, so that a stream has several events. */
function piecesOf(text: string): readonly string[] {
  const words = text.match(/\s*\S+\s*/g) ?? (text === '' ? [] : [text]);
  const step = Math.ceil(words.length / 100);
  return words.flatMap((_, i) => (i % Math.max(1, step) === 0 ? [words.slice(i, i + step).join('')] : []));
}

function* hugePieces(bytes: number, inOneEvent: boolean): Generator<string> {
  const piece = inOneEvent ? bytes : 64 * 1024;
  for (let left = bytes; left > 0; left -= piece) yield 'x'.repeat(Math.min(piece, left));
}

function sendJson(
  out: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  out.writeHead(status, {
    'content-type': typeof body === 'string' ? 'text/html' : 'application/json',
    ...headers,
  });
  out.end(text);
}

async function bodyOf(incoming: IncomingMessage): Promise<ModelRequest['body']> {
  let text = '';
  incoming.setEncoding('utf8');
  for await (const piece of incoming) text += piece;
  return text === '' ? undefined : JSON.parse(text);
}
