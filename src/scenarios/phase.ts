/** Runs one phase of a scenario within its timeout, and collects the observations for `classify`. */
import { join } from 'node:path';
import type { Exit } from '../core/contracts/process.ts';
import { textsToMask } from '../core/policy/secrets.ts';
import { readSome } from '../platform/files/read.ts';
import type { Program } from '../platform/process/table.ts';
import { markerIn, type Phase, type PhaseEvidence, type ScenarioVerdict } from './classify.ts';
import type { Needs } from './discover.ts';
import type { PhaseHost } from './launch/product.ts';
import { missingDeclaration } from './network.ts';
import { reported, reporting, type ScenarioSite } from './sites.ts';

/** One phase to run. */
export type PhaseRequest = {
  readonly phase: Phase;
  readonly argv: readonly [string, ...string[]];
  /** As named on the command line. */
  readonly script: string;
  /** The product's folder, the working directory of the phase. */
  readonly app: string;
  readonly env: Readonly<Record<string, string>>;
  readonly site: ScenarioSite;
  /** `NAME=value` of `env` that no other process has. */
  readonly marker: string;
  /** Folder for its output. */
  readonly outputs: string;
  readonly timeoutMs: number;
  readonly needs: Needs;
};

export type PhaseEnd = {
  readonly ended: Exit;
  readonly stdout: string;
  readonly stderr: string;
  /** The observations of a failure, for `classify`; undefined if it passed. */
  readonly seen?: PhaseEvidence;
  /** Why exit code 0 is no success. */
  readonly trouble?: ScenarioVerdict;
};

/** Bytes of each stream that are written to its file, and that are shown. */
const most = { kept: 4 * 1024 * 1024, shown: 16 * 1024 };

/** Runs a phase to its end or timeout. */
export async function runPhase(request: PhaseRequest, host: PhaseHost): Promise<PhaseEnd> {
  const files = (['stdout', 'stderr'] as const).map((name) =>
    join(request.outputs, `${request.phase}.${name}`),
  );
  const { ended, notice, productRan } = await runInTime(request, files, host);
  const [stdout = '', printed = ''] = await Promise.all(
    files.map(async (file) => (await readSome(file, most.shown, 'tail')) ?? ''),
  );
  const stderr = `${printed}${notice}`;
  if (ended.kind === 'exited' && ended.code === 0) return { ended, stdout, stderr };
  const marker = markerIn(stderr);
  const asks = request.phase === 'live' && ended.kind !== 'cancelled' && marker === undefined;
  const unreachable = asks ? await firstUnreachable(request.needs, host) : undefined;
  const attempts = await request.site.network?.attempts();
  const undeclared = attempts === undefined ? undefined : missingDeclaration(attempts);
  const seen: PhaseEvidence = {
    phase: request.phase,
    ended,
    ...(marker === undefined ? {} : { marker }),
    stderr,
    script: request.script,
    app: [request.app],
    ...(productRan === undefined ? {} : { productRan }),
    ...(unreachable === undefined ? {} : { unreachable }),
    ...(undeclared === undefined ? {} : { undeclared }),
  };
  return { ended, stdout, stderr, seen };
}

/** `productRan`: whether the product was running when the time was over. */
async function runInTime(
  request: PhaseRequest,
  [stdoutFile = '', stderrFile = '']: readonly string[],
  host: PhaseHost,
) {
  const { timeoutMs, site } = request;
  const { confinement, marks } = site;
  const stop = new AbortController();
  const over = new AbortController();
  let late = false;
  let productRan: boolean | undefined;
  let group: number | undefined;
  const watch = host.clock.sleep(timeoutMs, over.signal).then(() => {
    if (over.signal.aborted || host.signal.aborted) return;
    late = true;
    // Examined before the processes are ended.
    if (site.product?.isRunning() === true) productRan = true;
    else if (group !== undefined) productRan = productRuns(host.programsOf(group), request);
    stop.abort();
  });
  const answer = await host.spawn.run({
    argv: confinement === undefined ? request.argv : reporting(request.argv, marks, site.server),
    ...(confinement === undefined ? {} : { confinement }),
    cwd: request.app,
    env: request.env,
    marker: request.marker,
    stdoutFile,
    stderrFile,
    mask: textsToMask(host.env),
    mostBytes: most.kept,
    signal: AbortSignal.any([host.signal, stop.signal]),
    started: ({ pid }) => {
      group = pid;
    },
  });
  over.abort();
  await watch;
  const end =
    answer.kind === 'cancelled' && late
      ? { ended: { kind: 'timed_out', afterMs: timeoutMs } as const, notice: '' }
      : await reported(answer, marks);
  return { ...end, productRan };
}

/** The first host that does not accept a connection, as `HOST:PORT`. Behind a proxy that cannot be determined. */
export async function firstUnreachable(needs: Needs, host: PhaseHost): Promise<string | undefined> {
  if (proxies.some((name) => (host.env[name] ?? '') !== '')) return undefined;
  for (const place of needs.hosts) if (!(await host.reach(place))) return `${place.host}:${place.port}`;
  return undefined;
}
const proxies = ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'];

/** Programs that scenarios use to wait, and the sandbox itself. */
const waiting: ReadonlySet<string> = new Set(['bwrap', 'sleep', 'curl', 'wget', 'nc', 'tail', 'cat', 'tee']);

/** Whether one of the programs is the product's: its command line names a file of the product, or it runs in the product's folder
 *  and does not only wait. Undefined if that cannot be determined. */
export function productRuns(
  programs: readonly Program[] | undefined,
  { app, argv }: { readonly app: string; readonly argv: readonly string[] },
): boolean | undefined {
  const own = argv.join('\0');
  if (programs === undefined) return undefined;
  let unknown = false;
  for (const { args, cwd } of programs) {
    // The script and its subshells have the product's folder as an argument.
    if (args.join('\0') === own) continue;
    if (args.some((word) => word.startsWith(`${app}/`))) return true;
    const name = args[0]?.split('/').at(-1) ?? '';
    if (waiting.has(name) || isOwnShell(args, argv)) continue;
    if (cwd === app || cwd?.startsWith(`${app}/`) === true) return true;
    unknown ||= cwd === undefined;
  }
  return unknown ? undefined : false;
}

/** The interpreter by its own path, with the same script. */
const isOwnShell = (args: readonly string[], argv: readonly string[]): boolean =>
  argv.length > 1 && argv.slice(1).every((word) => args.includes(word));
