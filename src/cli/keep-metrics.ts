/** `factory keep --metrics ADDRESS`: the metrics of the runs directory, next to the worker. */
import { type OpenRunList, openRunList } from '../app/inspect/run-list.ts';
import type { Refusal } from '../core/diagnostic.ts';
import { isLoopback } from '../core/policy/loopback.ts';
import { runsDirOf, usage } from './find-run.ts';
import type { CliIo } from './io.ts';
import { databaseUrlOf } from './options.ts';
import { givenToken, tokenVariable } from './serve.ts';

export type MetricsOptions = {
  readonly runsdir?: string;
  readonly db?: string;
  readonly metrics?: MetricsAddress;
  readonly tokenFile?: string;
};

export type MetricsAddress = { readonly host: string; readonly port: number };

export const addressWords = ({ host, port }: MetricsAddress): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Listens until it is closed; undefined without `--metrics`. A loopback address needs no token: metrics have no texts of runs. */
export async function serveMetrics(
  options: MetricsOptions,
  io: CliIo,
): Promise<{ readonly url: string; readonly close: () => Promise<void> } | Refusal | undefined> {
  const { metrics: address } = options;
  if (address === undefined) return undefined;
  const security = await import('../web/security.ts');
  const token = givenToken(options, io);
  if (typeof token === 'object') return token;
  const bad = token === undefined ? undefined : security.tokenProblem(token);
  if (bad !== undefined) return usage(bad, `correct --token-file or ${tokenVariable}`);
  if (token === undefined && !isLoopback(address.host))
    return usage(
      `--metrics ${address.host} can be reached from other machines, and no token is given`,
      `put a token (16 characters or more) into a file and name it with --token-file, or set ${tokenVariable}`,
    );
  return listening(address, token, options, io);
}

async function listening(
  address: MetricsAddress,
  token: string | undefined,
  options: MetricsOptions,
  io: CliIo,
) {
  const { inUrl } = await import('../web/security.ts');
  const { metricsApp, scrapedMetrics } = await import('../web/metrics-app.ts');
  const { openServedQueue } = await import('../web/served-queue.ts');
  const { listen } = await import('../web/listen.ts');
  const { cwd, clock, env } = io;
  const runsDir = runsDirOf(options, io);
  const runs: OpenRunList = openRunList(runsDir, { cwd, clock });
  const queue = openServedQueue({ cwd, clock, env, runsDir, runs, db: databaseUrlOf(options, io) });
  let { port } = address;
  const app = metricsApp(
    () => scrapedMetrics(queue, runs),
    { token, host: address.host, port: () => port },
    (error) =>
      io.err(`internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`),
  );
  const server = await listen(app.fetch, { ...address, clock });
  if ('problems' in server) return server;
  port = server.port;
  return {
    url: `http://${inUrl(address.host)}:${port}/metrics`,
    close: async () => {
      await server.close();
      await queue.close();
    },
  };
}
