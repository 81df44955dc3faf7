/** A model server that speaks the Gemini API (`POST /v1beta/models/MODEL:streamGenerateContent`), on the loopback interface. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What one request gets. */
export type GeminiReaction =
  | { readonly text: string }
  /** A call of a tool that the request offers. */
  | { readonly call: { readonly name: string; readonly args: object } }
  | { readonly status: number; readonly message: string }
  /** Sends nothing more. */
  | { readonly hang: true };

export interface GeminiServer extends AsyncDisposable {
  /** For `GOOGLE_GEMINI_BASE_URL`. */
  readonly url: string;
  /** Bodies of the requests that offer tools, as JSON text. The others, by which the program chooses a model, are answered with `{}`. */
  readonly bodies: readonly string[];
}

/** Starts a server; `react` answers the n-th request, from 0. */
export async function startGeminiServer(react: (n: number) => GeminiReaction): Promise<GeminiServer> {
  const bodies: string[] = [];
  const server = createServer(async (incoming, out) => {
    let text = '';
    for await (const piece of incoming.setEncoding('utf8')) text += piece;
    const path = (incoming.url ?? '').split('?')[0] ?? '';
    if (!/:(?:streamG|g)enerateContent$/.test(path)) {
      sendJson(out, 404, { error: { code: 404 } });
      return;
    }
    const hasTools = JSON.parse(text).tools?.length > 0;
    if (hasTools) bodies.push(text);
    answer(out, hasTools ? react(bodies.length - 1) : { text: '{}' }, path.includes(':stream'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // listening on a port, so it is no pipe's name
  return {
    url: `http://127.0.0.1:${port}`,
    bodies,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function sendJson(out: ServerResponse, status: number, body: object): void {
  out.writeHead(status, { 'content-type': 'application/json' });
  out.end(JSON.stringify(body));
}

function answer(out: ServerResponse, reaction: GeminiReaction, stream: boolean): void {
  if ('hang' in reaction) return;
  if ('status' in reaction) {
    const { status: code, message } = reaction;
    sendJson(out, code, { error: { code, message } });
    return;
  }
  const part = 'call' in reaction ? { functionCall: reaction.call } : { text: reaction.text };
  const whole = {
    candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 },
  };
  if (!stream) {
    sendJson(out, 200, whole);
    return;
  }
  out.writeHead(200, { 'content-type': 'text/event-stream' });
  out.end(`data: ${JSON.stringify(whole)}\n\n`);
}
