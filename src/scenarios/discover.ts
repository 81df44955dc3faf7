/** Finds the scenarios of a folder and the interpreter of each. */
import { open, readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';

export type Scenario = {
  /** The file's name. */
  readonly name: string;
  /** Its folder, which may contain helpers too. */
  readonly folder: string;
  /** The words before the file on its command line; none for an executable file. */
  readonly interpreter: readonly string[];
};

/** By extension; any other file must be executable. */
const interpreters: Readonly<Record<string, readonly string[]>> = {
  '.sh': ['bash'],
  '.bash': ['bash'],
  '.py': ['python3'],
  '.js': ['node'],
  '.mjs': ['node'],
  '.cjs': ['node'],
  '.rb': ['ruby'],
  '.pl': ['perl'],
};

/** `check_user_scenarios.sh`, `api_component_checks.py`, `login_scenario.js`, … */
const scenarioName = /(^|[_.-])(user_scenarios?|component_checks?|scenarios?)$/i;
/** Files of the harness, and helpers of scenarios. */
const harness = /^(preflight|lint)_|^codex-wrapper/i;
const helper = /^(lib|helper|common|util|setup|_|\.|readme|makefile|dockerfile|license)/i;
/** Longer words that start like a helper's: `library_user_scenarios.sh` may be a scenario. */
const longer = /^(?!(?:lib|helper|util)s[_.-])(?:lib|helper|common|util|setup|license)[a-z0-9]/i;

export type Discovered = {
  readonly scenarios: readonly Scenario[];
  /** Scripts in the same folder that are skipped because of their names, except plain helpers. */
  readonly passedOver: readonly string[];
};

/** The scenarios directly in a folder, sorted: scripts with a scenario's name or, if there are none, every script except helpers
 *  and the harness. A single file is a scenario whatever its name. Rejects if `place` does not exist. */
export async function discover(place: string): Promise<Discovered> {
  if ((await stat(place)).isFile()) {
    const folder = dirname(place);
    const one = await asScript(folder, basename(place));
    return { scenarios: [one ?? { name: basename(place), folder, interpreter: [] }], passedOver: [] };
  }
  const scripts: Scenario[] = [];
  const doubtful: string[] = [];
  for (const name of (await readdir(place)).sort()) {
    if (harness.test(name)) continue;
    const isHelper = helper.test(name);
    if (isHelper && !(longer.test(name) && scenarioName.test(stem(name)))) continue;
    const script = await asScript(place, name);
    if (isHelper && script !== undefined) doubtful.push(name);
    else if (script !== undefined) scripts.push(script);
  }
  const named = scripts.filter(({ name }) => scenarioName.test(stem(name)));
  const scenarios = named.length > 0 ? named : scripts;
  const passedOver = scripts.filter((one) => !scenarios.includes(one)).map(({ name }) => name);
  return { scenarios, passedOver: [...passedOver, ...doubtful].sort() };
}

const stem = (name: string): string => basename(name, extname(name));

/** `*_user_scenarios.*` must know both modes. */
export const isUserScenario = (name: string): boolean => /(^|[_.-])user_scenarios?$/i.test(stem(name));
/** `*_component_checks.*` may have no modes: then they are run once, as live. */
export const isComponentCheck = (name: string): boolean => /(^|[_.-])component_checks?$/i.test(stem(name));

async function asScript(folder: string, name: string): Promise<Scenario | undefined> {
  const is = await stat(join(folder, name)).catch(() => undefined);
  if (is?.isFile() !== true) return undefined;
  const known = interpreters[extname(name).toLowerCase()];
  const executable = (is.mode & 0o111) !== 0;
  // Shell scripts are run by bash; any other executable script with a shebang by its interpreter.
  const itself =
    executable && (known === undefined || (known[0] !== 'bash' && (await hasShebang(join(folder, name)))));
  if (itself) return { name, folder, interpreter: [] };
  return known === undefined ? undefined : { name, folder, interpreter: known };
}

async function hasShebang(path: string): Promise<boolean> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer.toString('latin1') === '#!';
  } finally {
    await file.close();
  }
}

/** A command that checks the script's syntax, for languages that have one. */
export function syntaxCheck(script: string): readonly [string, ...string[]] | undefined {
  if (/\.(sh|bash)$/i.test(script)) return ['bash', '-n', script];
  if (/\.[cm]?js$/i.test(script)) return ['node', '--check', script];
  if (/\.py$/i.test(script))
    return [
      'python3',
      // Isolated mode: the product's folder, where it starts, may contain an `ast.py`.
      '-I',
      '-c',
      'import ast, sys; ast.parse(open(sys.argv[1], "rb").read(), sys.argv[1])',
      script,
    ];
  return undefined;
}

/* Reads a scenario's requirements and modes from its text. Pure. */

/** The values of comment lines `word: VALUE…`. The pattern has only one way to match the comment's start: otherwise a long line
 *  of `#` would take exponential time. */
const declared = (text: string, word: string): readonly string[] =>
  text
    .split('\n')
    .flatMap(
      (line) =>
        new RegExp(`^\\s*(?:#|//|--|\\*)[#/*-]*\\s*${word}:(.*)$`).exec(line)?.[1]?.split(/[\s,]+/) ?? [],
    )
    .filter((one) => one !== '');

export type Needs = {
  /** Environment variables that live needs. */
  readonly variables: readonly string[];
  /** Hosts that live needs, as `HOST:PORT`. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
};

/** The lines `requires-env: NAME…` and `requires-network: HOST[:PORT]…` of a scenario. */
export function needsOf(text: string): Needs {
  return {
    variables: declared(text, 'requires-env'),
    hosts: declared(text, 'requires-network').map((place) => {
      const [, host = place, port = '443'] = /^(.*?)(?::(\d+))?$/.exec(place) ?? [];
      return { host, port: Number(port) };
    }),
  };
}

/** Whether it uses SCENARIO_MODE. */
export const knowsModes = (text: string): boolean => text.includes('SCENARIO_MODE');
