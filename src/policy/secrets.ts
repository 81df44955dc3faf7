/** Which environment variables are secrets, who gets them, and keeping their values out of what is written. */

import { maskStream } from '../system/mask.ts';

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

/** Replaces every occurrence of a value, however it is spelled, by `***`: what `maskStream` does to bytes. */
export function masker(values: readonly string[]): (text: string) => string {
  const wanted = [...new Set(values)].filter((value) => value !== '');
  if (wanted.length === 0) return (text) => text;
  return (text) => {
    const stream = maskStream(wanted);
    const bytes = Buffer.from(text);
    const masked = Buffer.concat([stream.push(bytes), stream.end()]);
    // A text without values comes back as it was, whatever it holds.
    return masked.equals(bytes) ? text : masked.toString();
  };
}
