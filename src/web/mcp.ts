/** `factory mcp`: a server of the Model Context Protocol on standard input and output, over the HTTP API without a port. */
import type { Readable, Writable } from 'node:stream';
import { nextTurn } from '../platform/turns.ts';
import type { ClientOptions } from './client.ts';
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  Server,
  StdioServerTransport,
} from './mcp-protocol.ts';
import { callTool, modelTools } from './mcp-tools.ts';

const instructions =
  'Runs of factory, which turns specifications into verified commits. Begin with the tool "runs"; "why" explains what a run needs.';

/** Serves until the client closes the streams, or the signal fires. `report` gets what is wrong with the client's messages. */
export async function serveModels(
  streams: { readonly input: NodeJS.ReadableStream; readonly output: NodeJS.WritableStream },
  about: {
    readonly version: string;
    readonly allowActs: boolean;
    readonly signal: AbortSignal;
    readonly report: (why: string) => void;
  },
  client: ClientOptions,
): Promise<void> {
  const { version, allowActs, signal, report } = about;
  const server = new Server({ name: 'factory', version }, { capabilities: { tools: {} }, instructions });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...modelTools(allowActs)] }));
  const underWay = new Set<Promise<unknown>>();
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const called = callTool(params.name, params.arguments ?? {}, allowActs, client);
    underWay.add(called);
    return { ...(await called.finally(() => underWay.delete(called))) };
  });
  server.onerror = ({ message }) => report(message.slice(0, 500));
  // Each answer that the client does not read yet is one more listener.
  streams.output.setMaxListeners(0);
  const transport = new StdioServerTransport(streams.input as Readable, streams.output as Writable);
  const closed = new Promise<void>((done) => {
    server.onclose = () => done();
    // The transport does not watch the end of its input.
    streams.input.once('end', () => done());
    streams.input.once('close', () => done());
    signal.addEventListener('abort', () => done(), { once: true });
  });
  await server.connect(transport);
  await closed;
  // An act is not cut off, and what was asked before the end of the input is answered. The library handles a request, and sends its
  // answer, in later turns.
  do {
    await Promise.allSettled(underWay);
    await nextTurn();
  } while (underWay.size > 0 && !signal.aborted);
  await server.close();
}
