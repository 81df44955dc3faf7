/** Which environment variables are secrets, who gets them, and keeping their values out of what is written. */

export { type ByteMasker, maskStream } from '../system/mask.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const secretName = /_KEY$|_TOKEN$|_SECRET$|PASSWORD/i;
const ownName = /^(FACTORY|ATTRACTOR|ATTRACTION)_/;

/** Shorter values are too common in ordinary output to be replaced. */
const shortestMasked = 8;

/** Sorted names of the variables that hold secrets. The engine's own settings are none, whatever their names. */
export function secretNames(env: Environment): string[] {
  return Object.keys(env)
    .filter((name) => env[name] !== undefined && secretName.test(name) && !ownName.test(name))
    .sort();
}

export type StageEnvironment = {
  /** What the stage gets. */
  readonly env: Record<string, string>;
  /** Sorted names of the secrets it does not get. */
  readonly withheld: string[];
  /** Values to hide in all that is written, passed or withheld. */
  readonly mask: string[];
};

/** The environment of a stage: everything but secrets, and those secrets that `pass` names. `also` names variables that
 *  are secrets whatever they are called: they pass, and their values are hidden. */
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
  return { env: passed, withheld, mask: maskedForms(secrets.map((name) => env[name] ?? '')) };
}

/** Each value as it is and as a JSON text spells it; blanks around it are not part of the secret. */
function maskedForms(values: readonly string[]): string[] {
  const worth = values.map((value) => value.trim()).filter((value) => value.length >= shortestMasked);
  return [...new Set(worth.flatMap((value) => [value, JSON.stringify(value).slice(1, -1)]))];
}

const stars = '***';

/** Replaces every occurrence of a value by `***`. Occurrences that overlap become one, so that no part of either is
 *  left: what `maskStream` does to bytes. */
export function masker(values: readonly string[]): (text: string) => string {
  const wanted = [...new Set(values)].filter((value) => value !== '');
  return (text) => {
    let masked = '';
    let at = 0;
    for (const [start, end] of occurrences(text, wanted)) {
      if (start >= at) masked += text.slice(at, start) + stars;
      at = Math.max(at, end);
    }
    return masked + text.slice(at);
  };
}

/** Every occurrence as [start, end), by start. */
function occurrences(text: string, values: readonly string[]): [start: number, end: number][] {
  const found: [number, number][] = [];
  for (const value of values) {
    for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
      found.push([at, at + value.length]);
    }
  }
  return found.sort(([a], [b]) => a - b);
}
