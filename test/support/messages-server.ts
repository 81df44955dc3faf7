/** A model server that speaks the Messages API (`POST /v1/messages`, streamed), on the loopback interface. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Numbers = {
  readonly input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly output_tokens: number;
};

/** What one request gets. */
export type MessageReaction =
  | { readonly text: string; readonly usage?: Numbers }
  /** Calls of the tools that the request offers. */
  | {
      readonly calls: readonly { readonly name: string; readonly input: object }[];
      readonly usage?: Numbers;
    }
  | { readonly status: number; readonly type: string; readonly message: string }
  /** Closes the connection after the beginning of an answer. */
  | { readonly cut: true }
  /** Sends nothing more. */
  | { readonly hang: true };

export type MessageRequest = {
  readonly headers: IncomingHttpHeaders;
  readonly body: { readonly [key: string]: unknown };
};

export interface MessagesServer extends AsyncDisposable {
  /** For `ANTHROPIC_BASE_URL`. */
  readonly url: string;
  readonly requests: readonly MessageRequest[];
}

/** Starts a server that takes the reactions in order and the last one again and again. */
export async function startMessagesServer(reactions: readonly MessageReaction[]): Promise<MessagesServer> {
  const requests: MessageRequest[] = [];
  const server = createServer(async (incoming, out) => {
    let text = '';
    for await (const piece of incoming.setEncoding('utf8')) text += piece;
    const path = (incoming.url ?? '').split('?')[0];
    if (incoming.method !== 'POST' || path !== '/v1/messages') {
      out.writeHead(incoming.method === 'HEAD' ? 200 : 404).end();
      return;
    }
    const body = JSON.parse(text);
    requests.push({ headers: incoming.headers, body });
    const reaction = reactions[Math.min(requests.length, reactions.length) - 1];
    if (reaction !== undefined) react(out, reaction, `msg_${requests.length}`, String(body.model));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // listening on a port, so it is no pipe's name
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function react(out: ServerResponse, reaction: MessageReaction, id: string, model: string): void {
  if ('hang' in reaction) return;
  if ('status' in reaction) {
    const { type, message } = reaction;
    out.writeHead(reaction.status, { 'content-type': 'application/json' });
    out.end(JSON.stringify({ type: 'error', error: { type, message } }));
    return;
  }
  out.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (type: string, more: object = {}) =>
    out.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);
  const told = ('usage' in reaction ? reaction.usage : undefined) ?? {
    input_tokens: 11,
    cache_read_input_tokens: 0,
    output_tokens: 7,
  };
  const usage = { ...told, cache_creation_input_tokens: 0, output_tokens: 1 };
  const message = { id, type: 'message', role: 'assistant', model, content: [], usage };
  send('message_start', { message: { ...message, stop_reason: null, stop_sequence: null } });
  if ('cut' in reaction) {
    send('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
    setImmediate(() => out.destroy());
    return;
  }
  const blocks: readonly (readonly [object, object])[] =
    'text' in reaction
      ? [
          [
            { type: 'text', text: '' },
            { type: 'text_delta', text: reaction.text },
          ],
        ]
      : reaction.calls.map(({ name, input }, n) => [
          { type: 'tool_use', id: `toolu_${id}_${n}`, name, input: {} },
          { type: 'input_json_delta', partial_json: JSON.stringify(input) },
        ]);
  for (const [index, [content_block, delta]] of blocks.entries()) {
    send('content_block_start', { index, content_block });
    send('content_block_delta', { index, delta });
    send('content_block_stop', { index });
  }
  const stop_reason = 'text' in reaction ? 'end_turn' : 'tool_use';
  send('message_delta', {
    delta: { stop_reason, stop_sequence: null },
    usage: { output_tokens: told.output_tokens },
  });
  send('message_stop');
  out.end();
}
