/** `factory serve`: the page and the HTTP API over a runs directory. */
import { realpathSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { startDetached } from '../app/detach.ts';
import { flagWords } from '../app/typed-command.ts';
import type { Refusal } from '../core/diagnostic.ts';
import { isLoopback } from '../core/policy/loopback.ts';
import { readPlain } from '../platform/files/read.ts';
import { systemWords } from '../platform/files/write.ts';
import { packageRoot } from '../platform/package.ts';
import { openServedQueue } from '../web/served-queue.ts';
import { openServedRuns } from '../web/served-runs.ts';
import { sharedReaders } from '../web/shared-readers.ts';
import type { Web } from '../web/web.ts';
import { runsDirOf, usage } from './find-run.ts';
import type { CliIo } from './io.ts';
import { databaseUrlOf } from './options.ts';
import type { VerbResult } from './verb.ts';

type ServeOptions = {
  readonly runsdir?: string;
  readonly root?: readonly string[];
  readonly host?: string;
  readonly port?: number;
  readonly tokenFile?: string;
  readonly publicUrl?: string;
  readonly readOnly?: boolean;
  readonly notify?: string;
  readonly openapi?: boolean;
  readonly db?: string;
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
  const { host = localHost } = options;
  const given = givenToken(options, io);
  if (typeof given === 'object') return given;
  const bad = given === undefined ? undefined : security.tokenProblem(given);
  if (bad !== undefined) return usage(bad, 'leave it out for a random one');
  const publicUrl = options.publicUrl === undefined ? undefined : security.publicOrigin(options.publicUrl);
  if (options.publicUrl !== undefined && publicUrl === undefined)
    return usage(
      `--public-url ${options.publicUrl} is no address of a server`,
      'write it like https://ci.example.org',
    );
  if (given === undefined && (!isLoopback(host) || publicUrl !== undefined))
    return usage(
      `${publicUrl ?? `--host ${host}`} can be reached from other machines, and no token is given`,
      `put a token (16 characters or more) into a file and name it with --token-file, or set ${tokenVariable}`,
    );
  const token = given ?? security.newToken();
  const served = await serve({ ...options, host, token, publicUrl }, io);
  if ('problems' in served) return served;
  const { port, runsDir, close, signal } = served;
  const at = security.inUrl(host === '0.0.0.0' || host === '::' ? hostname() : host);
  const where = publicUrl === undefined ? '' : ` at ${at}:${port}`;
  io.err(`serving ${runsDir}${where}${options.readOnly === true ? ', read-only' : ''}; stop with Ctrl-C\n`);
  io.out(`${publicUrl ?? `http://${at}:${port}`}/?token=${token}\n`);
  if (!signal.aborted)
    await new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }));
  await close();
  return 0;
}

export const tokenVariable = 'FACTORY_SERVE_TOKEN';

/** The token of the file, else of the variable; undefined without both. Not of a flag: every user of a machine sees those. */
export function givenToken(
  { tokenFile }: Pick<ServeOptions, 'tokenFile'>,
  { cwd, env }: CliIo,
): string | undefined | Refusal {
  if (tokenFile === undefined) return env[tokenVariable] || undefined;
  const read = readPlain(resolve(cwd, tokenFile), 64 * 1024);
  if (read.kind === 'text') return read.text.trim();
  const why = read.kind === 'missing' ? 'there is no such file' : `it ${read.why}`;
  return usage(`--token-file ${tokenFile}: ${why}`, 'name a file that has the token alone');
}

/** The folders of `--root`, as given and by their real paths; by default the current one. */
export function rootsOf(
  { root = [] }: Pick<ServeOptions, 'root'>,
  { cwd }: CliIo,
): readonly string[] | Refusal {
  const paths = root.length === 0 ? [cwd] : root.map((path) => resolve(cwd, path));
  const bad = paths.find((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true);
  if (bad !== undefined)
    return usage(`--root ${bad} is no folder`, 'name folders in which runs may be started, each with --root');
  return [...new Set(paths.flatMap((path) => [realpathSync.native(path), path]))];
}

type Served = {
  readonly port: number;
  readonly runsDir: string;
  readonly signal: AbortSignal;
  readonly close: () => Promise<void>;
};

async function serve(
  options: Omit<ServeOptions, 'publicUrl'> & {
    readonly host: string;
    readonly token: string;
    readonly publicUrl: string | undefined;
  },
  io: CliIo,
): Promise<Served | Refusal> {
  const { host, token, publicUrl, port = defaultPort } = options;
  const [{ webApp }, { listen }, { readAssets }] = await Promise.all([
    import('../web/server.ts'),
    import('../web/listen.ts'),
    import('../web/assets.ts'),
  ]);
  const runsDir = runsDirOf(options, io);
  const roots = rootsOf(options, io);
  if ('problems' in roots) return roots;
  const signal = io.signal();
  const web = webOf({ ...options, who: 'page' }, { runsDir, roots }, signal, io);
  let actual = port;
  const access = { token, host, port: () => actual, machine: hostname(), publicUrl };
  const page = readAssets(join(packageRoot(), 'dist/page'));
  const app = webApp(web, access, page, (error) =>
    io.err(`internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`),
  );
  const listening = await listen(app.fetch, { host, port, clock: io.clock });
  if ('problems' in listening) return listening;
  actual = listening.port;
  // The first reading of many runs takes a second: so it begins before the first request.
  web.runs.rows().catch(() => {});
  if (!web.readOnly) {
    const { resumeAnsweredRuns } = await import('../web/answered-runs.ts');
    void resumeAnsweredRuns(web, (text) => io.err(`${text}\n`)).catch((error: unknown) => {
      io.err(`answers of runs are not watched any more: ${systemWords(error)}\n`);
    });
  }
  const close = async (): Promise<void> => {
    await listening.close();
    await web.queue.close();
  };
  return { port: actual, runsDir, signal, close };
}

/** What the endpoints work with. `closing` fires when the server ends. */
export function webOf(
  options: Pick<ServeOptions, 'readOnly' | 'notify' | 'db'> & Pick<Web, 'who'>,
  { runsDir, roots }: { readonly runsDir: string; readonly roots: readonly string[] },
  closing: AbortSignal,
  io: CliIo,
): Web {
  const { cwd, clock, every, spawn, called } = io;
  // Runs and their nodes do not get it.
  const { [tokenVariable]: _, ...env } = io.env;
  const host = { cwd, clock, ...(called === undefined ? {} : { called }) };
  const readOnly = options.readOnly === true;
  const runs = openServedRuns({ ...host, runsDir, closing, readOnly });
  const db = databaseUrlOf(options, io);
  return {
    ...host,
    ...{ who: options.who, notify: options.notify, runsDir, env, every, spawn, closing, readOnly },
    ...{ runs, db },
    ...sharedReaders({ clock, closing, runs }),
    queue: openServedQueue({ ...host, runsDir, env, runs, db }),
    answering: new Set(),
    roots,
    start: (argv, { cwd: folder, notify } = { cwd, notify: options.notify }) =>
      startDetached([...argv, ...flagWords({ notify })], { cwd: folder, env }),
  };
}
