/** `factory serve`: the page and the HTTP API over a runs directory. */
import { hostname } from 'node:os';
import { join } from 'node:path';
import { startDetached } from '../app/detach.ts';
import { type OpenRunList, openRunList } from '../app/inspect/rows.ts';
import type { Refusal } from '../core/diagnostic.ts';
import { packageRoot } from '../platform/package.ts';
import type { DeliverBody } from '../web/contract.ts';
import type { Web } from '../web/web.ts';
import { runsDirOf, usage } from './find-run.ts';
import type { CliIo } from './io.ts';
import type { VerbResult } from './verb.ts';

type ServeOptions = {
  readonly runsdir?: string;
  readonly host?: string;
  readonly port?: number;
  readonly token?: string;
  readonly readOnly?: boolean;
  readonly openapi?: boolean;
};

const defaultPort = 4477;
const localHost = '127.0.0.1';

/** Serves until a signal; then the exit code is 0. */
export async function serveCommand(options: ServeOptions, io: CliIo): Promise<VerbResult> {
  if (options.openapi === true) {
    const { openApi } = await import('../web/openapi.ts');
    io.out(`${JSON.stringify(openApi(), null, 2)}\n`);
    return 0;
  }
  const security = await import('../web/security.ts');
  const { host = localHost, token = security.newToken() } = options;
  const bad = options.token === undefined ? undefined : security.tokenProblem(options.token);
  if (bad !== undefined) return usage(`--token: ${bad}`, 'leave it out for a random one');
  if (!security.isLoopback(host) && options.token === undefined)
    return usage(
      `--host ${host} can be reached from other machines, and --token is missing`,
      'choose a token (16 characters or more) and pass it to the people who may use this server',
    );
  const served = await serve({ ...options, host, token }, io);
  if ('problems' in served) return served;
  const { port, runsDir, close, signal } = served;
  const at = security.inUrl(host === '0.0.0.0' || host === '::' ? hostname() : host);
  io.out(`http://${at}:${port}/?token=${token}\n`);
  io.err(`serving ${runsDir}${options.readOnly === true ? ', read-only' : ''}; stop with Ctrl-C\n`);
  if (!signal.aborted)
    await new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }));
  await close();
  return 0;
}

type Served = {
  readonly port: number;
  readonly runsDir: string;
  readonly signal: AbortSignal;
  readonly close: () => Promise<void>;
};

async function serve(
  options: ServeOptions & { readonly host: string; readonly token: string },
  io: CliIo,
): Promise<Served | Refusal> {
  const { host, token, port = defaultPort } = options;
  const [{ webApp }, { listen }, { readAssets }] = await Promise.all([
    import('../web/server.ts'),
    import('../web/listen.ts'),
    import('../web/assets.ts'),
  ]);
  const runsDir = runsDirOf(options, io);
  const signal = io.signal();
  const web = webOf(options, runsDir, signal, io);
  let actual = port;
  const access = { token, host, port: () => actual, machine: hostname() };
  const page = readAssets(join(packageRoot(), 'dist/page'));
  const app = webApp(web, access, page, (error) =>
    io.err(`internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`),
  );
  const listening = await listen(app.fetch, { host, port, clock: io.clock });
  if ('problems' in listening) return listening;
  actual = listening.port;
  // The first reading of many runs takes a second: so it begins before the first request.
  web.runs.rows().catch(() => {});
  return { port: actual, runsDir, signal, close: listening.close };
}

function webOf(options: ServeOptions, runsDir: string, closing: AbortSignal, io: CliIo): Web {
  const { cwd, env, clock, every, called } = io;
  const doors = { cwd, clock, ...(called === undefined ? {} : { called }) };
  return {
    ...doors,
    ...{ runsDir, env, every, closing, readOnly: options.readOnly === true },
    runs: sharingReads(openRunList(runsDir, doors)),
    start: (argv) => startDetached(argv, { cwd, env }),
    deliver: (run, body) => deliverIn(run, body, options, io),
  };
}

/** Requests at the same time share one reading of the list. */
function sharingReads({ row, rows }: OpenRunList): OpenRunList {
  let reading: ReturnType<OpenRunList['rows']> | undefined;
  return {
    row,
    rows() {
      reading ??= rows().finally(() => {
        reading = undefined;
      });
      return reading;
    },
  };
}

/** `factory deliver --json` in this process. */
async function deliverIn(run: string, body: DeliverBody, options: ServeOptions, io: CliIo) {
  const { deliverCommand } = await import('./deliver.ts');
  let printed = '';
  let warned = '';
  const out = (text: string): void => {
    printed += text;
  };
  const err = (text: string): void => {
    warned += text;
  };
  const place = options.runsdir === undefined ? {} : { runsdir: options.runsdir };
  // A push that has begun is not stopped with the server.
  const signal = () => new AbortController().signal;
  const ended = await deliverCommand(
    run,
    { ...body, ...place, json: true, who: 'page' },
    { ...io, out, err, signal },
  );
  return typeof ended === 'number' ? { printed, warned } : ended;
}
