/** The folders of one phase, and what starts the product in it. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { Environment, Exit } from '../core/contracts/process.ts';
import type { Bind, Confinement } from '../core/contracts/sandbox.ts';
import { commandEnvironment, confinedEnvironment } from '../core/policy/confinement.ts';
import { isNamedIn } from '../platform/embedded/links.ts';
import { withoutGit } from '../platform/git.ts';
import type { Loopback } from '../platform/sandbox/loopback.ts';
import type { NullProduct } from './floor/null-products.ts';
import { writeBroker, writeLauncher, writeNullLauncher, writePlainLauncher } from './launch/files.ts';
import { type PhaseHost, type Product, startProduct } from './launch/product.ts';

/** What a phase needs to know of its run. */
export type SiteRequest = {
  /** The run's folder, in which the phase makes its own. */
  readonly base: string;
  readonly app: string;
  /** The copy of the scenarios. */
  readonly folder: string;
  /** Its other names, which the product must not learn. */
  readonly hidden: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The value of SCENARIO_RUN_ID. */
  readonly id: string;
  /** The network of the scenario and its product; without it they have the machine's. */
  readonly network: Loopback | undefined;
  /** Whether a file of the scenario names APP_RUN; else no sandbox is made for the product. */
  readonly launches: boolean;
  /** The product that does nothing and answers in place of the real one. */
  readonly nullProduct?: NullProduct | undefined;
  readonly mounts?: readonly ProductMount[] | undefined;
};

/** The folder `source` at the slash path `path` of the product. */
export type ProductMount = { readonly path: string; readonly source: string };

/** The product's folder in a sandbox. */
export const productBinds = (app: string, mounts: readonly ProductMount[] = []): readonly Bind[] => [
  { path: app, write: true },
  ...mounts.map(({ path, source }) => ({ path: join(app, path), source, write: false })),
];

/** A place where a phase can run. `close` ends the product's processes. */
export type ScenarioSite = {
  readonly temporary: string;
  /** Folder for the programs of the harness, read-only for the scenario. */
  readonly tools: string;
  /** Folder of files by which programs of the harness report. */
  readonly marks: string;
  readonly env: Readonly<Record<string, string>>;
  readonly confinement?: Confinement;
  readonly product?: Product;
  readonly network?: Loopback | undefined;
  /** Shell commands that start the launch server. */
  readonly server?: string;
  close(): Promise<void>;
};

const word = (): string => randomBytes(8).toString('hex');

/** Makes the folders, under names that no other phase knows, and starts the product's sandbox. */
export async function openSite(request: SiteRequest, host: PhaseHost): Promise<ScenarioSite> {
  const { base, app, env } = request;
  // Not next to the scenarios: a new entry there would look like a program's.
  const at = join(base, 'run', word());
  const [temporary, socket, broker] = [join(at, 'tmp'), join(at, 'socket'), join(at, 'broker')];
  // The product sees the folders above, so these must not be guessed.
  const [tools, marks, scratch] = [join(at, word()), join(at, word()), join(at, word())];
  await mkdir(at, { recursive: true });
  for (const made of [temporary, socket, broker, tools, marks, scratch]) await mkdir(made);
  const { sandbox } = host;
  if (sandbox === undefined) {
    const APP_RUN = await (request.nullProduct === undefined
      ? writePlainLauncher(tools, app, temporary)
      : writeNullLauncher(tools, request.nullProduct));
    const plain = { ...env, SCENARIO_TMP: temporary, TMPDIR: temporary, APP_RUN };
    return { temporary, tools, marks, env: plain, close: async () => {} };
  }
  const hidden = [...request.hidden, tools, marks];
  const entering = request.network?.entering;
  const places = { socket, app, temporary };
  const calls = join(marks, 'calls');
  await mkdir(calls);
  const { launcher: APP_RUN, server } = await (request.nullProduct === undefined
    ? writeLauncher(tools, sandbox.node, { ...places, marks, hidden, calls })
    : writeNullLauncher(tools, request.nullProduct).then((launcher) => ({ launcher, server: undefined })));
  const shared: Bind[] = [...productBinds(app, request.mounts), { path: temporary, write: true }];
  const confinement = sandbox.confine(
    [
      ...[request.folder, tools, socket].map((path) => ({ path, write: false })),
      ...shared,
      { path: marks, write: true },
    ],
    { scratch: join(scratch, 'scenario'), entering },
  );
  const given = confinedEnvironment({ ...env, SCENARIO_TMP: temporary, TMPDIR: '/tmp' }, confinement);
  const { network } = request;
  const site = { temporary, tools, marks, env: { ...given, APP_RUN }, confinement, network };
  if (!request.launches || request.nullProduct !== undefined) return { ...site, close: async () => {} };
  const product = await startProduct(
    {
      argv: [sandbox.node, await writeBroker(broker, places)],
      cwd: socket,
      env: productEnvironment(given, { hidden, id: request.id }),
      outputs: scratch,
      confinement: sandbox.confine(
        [{ path: broker, write: false }, { path: socket, write: true }, ...shared],
        { scratch: join(scratch, 'product'), entering },
      ),
    },
    host,
  );
  return { ...site, product, ...(server === undefined ? {} : { server }), close: product.stop };
}

/** The environment without variables of git and of the engine: a scenario or product must not write a node's output. */
export function scenarioEnvironment(
  env: Environment,
  mode: 'selftest' | 'live',
  { live, id }: { readonly live: boolean; readonly id: string },
): Record<string, string> {
  const given = Object.entries(withoutGit(env)).filter(
    ([name]) => !name.startsWith('FACTORY_') || keptOfEngine.has(name),
  );
  return {
    ...Object.fromEntries(given),
    ...commandEnvironment(env),
    SCENARIO_MODE: mode,
    REQUIRE_LIVE: live ? '1' : '0',
    SCENARIO_RUN_ID: id,
  };
}
/** Variables by which the engine finds leftover processes, and `factory` its Node.js. */
const keptOfEngine: ReadonlySet<string> = new Set([
  'FACTORY_RUN_MARKER',
  'FACTORY_NODE_EXEC',
  'FACTORY_SANDBOX',
]);

/** The product learns neither where the scenario is nor that one is running. */
function productEnvironment(
  env: Readonly<Record<string, string>>,
  { hidden, id }: { readonly hidden: readonly string[]; readonly id: string },
): Record<string, string> {
  const given = Object.entries(env).filter(
    ([name, value]) =>
      !['SCENARIO_MODE', 'REQUIRE_LIVE', 'OLDPWD', '_'].includes(name) &&
      !hidden.some((place) => isNamedIn(value, place)),
  );
  return { ...Object.fromEntries(given), SCENARIO_RUN_ID: `${id}-product` };
}

/** The argv in a shell that reports how it ended: bubblewrap's exit code is the same for a signal and for an exit code above 128.
 *  A shell reports a signal on its own standard error. `before`: commands that it runs first. */
export function reporting(argv: readonly [string, ...string[]], marks: string, before = ''): typeof argv {
  const text = `${before}\n${report}`;
  return ['sh', '-c', text, marks, ...argv];
}
const report =
  'exec 3>&2 2>"$0/notice"; trap : TERM INT HUP; (exec "$@" 2>&3 3>&-); code=$?; printf %s "$code" >"$0/code"; exit "$code"';

/** How the argv of `reporting` ended, and what the shell printed about it. */
export async function reported(
  ended: Exit,
  marks: string,
): Promise<{ readonly ended: Exit; readonly notice: string }> {
  const read = (name: string): Promise<string> => readFile(join(marks, name), 'utf8').catch(() => '');
  const [code, notice] = [await read('code'), await read('notice')];
  const seen = codeOf(ended);
  // A product that the scenario started in its own sandbox can write these files: they never change the number.
  if (seen === undefined || code !== String(seen) || (seen > 128 && notice !== ''))
    return { ended, notice: '' };
  return { ended: { kind: 'exited', code: seen }, notice };
}

/** The exit code that a shell would give. */
function codeOf(ended: Exit): number | undefined {
  if (ended.kind === 'exited') return ended.code;
  if (ended.kind !== 'signalled') return undefined;
  return 128 + (constants.signals[ended.signal as NodeJS.Signals] ?? 0);
}

/** Whether a program of the harness has left this mark. */
export const isMarked = ({ marks }: ScenarioSite, name: string): boolean => existsSync(join(marks, name));

/** What the mark says; undefined if there is none. */
export const markText = ({ marks }: ScenarioSite, name: string): string | undefined => {
  const file = join(marks, name);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
};
