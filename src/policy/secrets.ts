/** Which environment variables are secrets, which nodes get them, and which values are masked. */

export type Environment = Readonly<Record<string, string | undefined>>;

const secretName = /_KEY$|_TOKEN$|_SECRET$|PASSWORD/i;
const ownName = /^(FACTORY|ATTRACTOR|ATTRACTION)_/;

/** Shorter values are too common in ordinary output to be masked. */
const shortestMasked = 8;

/** Sorted names of the variables that hold secrets. The engine's settings are no secrets, whatever their names. */
export function secretNames(env: Environment): string[] {
  return Object.keys(env)
    .filter((name) => env[name] !== undefined && secretName.test(name) && !ownName.test(name))
    .sort();
}

export type StageEnvironment = {
  /** What the node gets. */
  readonly env: Record<string, string>;
  /** Sorted names of the secrets that it does not get. */
  readonly withheld: string[];
  /** Values to mask in all output, whether the node gets them or not. */
  readonly mask: string[];
};

/** The environment of a node: everything but secrets, and those secrets that `pass` names. `also` names variables
 *  that are secrets whatever they are called: they pass, and their values are masked. */
export function stageEnvironment(
  env: Environment,
  pass: readonly string[],
  also: readonly string[] = [],
): StageEnvironment {
  const secrets = [...new Set([...secretNames(env), ...also])];
  const withheld = secrets.filter((name) => !pass.includes(name) && !also.includes(name));
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && !withheld.includes(name)) passed[name] = value;
  }
  return { env: passed, withheld, mask: worthMasking(secrets.map((name) => env[name] ?? '')) };
}

/** The values that are long enough; white space around one is not part of the secret. */
function worthMasking(values: readonly string[]): string[] {
  const trimmed = values.map((value) => value.trim()).filter((value) => value.length >= shortestMasked);
  return [...new Set(trimmed)];
}
