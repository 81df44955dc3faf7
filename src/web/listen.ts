/** Listens for requests until it is closed. */
import { createAdaptorServer } from '@hono/node-server';
import type { Clock } from '../core/contracts/clock.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { isCode, systemWords } from '../platform/files/write.ts';

type Listening = {
  readonly port: number;
  /** Settles when every connection has ended. `closing` of the `Web` must have fired: streams end by it. */
  close(): Promise<void>;
};

/** Milliseconds. */
const limits = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 2000,
};
/** Four times as many as there may be streams: a page has one, and asks for what has changed meanwhile. */
const mostConnections = 2000;
const closeMs = 1000;

/** Listens on `host` and `port`; 0 takes a free port. */
export async function listen(
  fetch: (request: Request) => Response | Promise<Response>,
  { host, port, clock }: { readonly host: string; readonly port: number; readonly clock: Clock },
): Promise<Listening | Refusal> {
  const server = createAdaptorServer({ fetch, overrideGlobalObjects: false, serverOptions: limits });
  if ('maxConnections' in server) server.maxConnections = mostConnections;
  const failed = await new Promise<Error | undefined>((done) => {
    server.once('error', done);
    server.listen(port, host, () => done(undefined));
  });
  if (failed !== undefined) return refusedPort(failed, host, port);
  server.on('error', () => {});
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    async close() {
      const over = new AbortController();
      const closed = new Promise<void>((done) => server.close(() => done())).then(() => over.abort());
      await clock.sleep(closeMs, over.signal);
      // A client that does not let go.
      if (!over.signal.aborted && 'closeAllConnections' in server) server.closeAllConnections();
      await closed;
    },
  };
}

function refusedPort(error: Error, host: string, port: number): Refusal {
  if (isCode(error, 'EADDRINUSE'))
    return refused('port', `port ${port} of ${host} is in use`, 'choose another: --port 0 takes a free one');
  if (isCode(error, 'EACCES'))
    return refused('port', `port ${port} may not be used by this user`, 'choose one above 1023');
  return refused('host', `cannot listen on ${host}: ${systemWords(error)}`, 'check --host and --port');
}
