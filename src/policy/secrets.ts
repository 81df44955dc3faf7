/** Which environment variables are secrets, which nodes get them, and which texts are masked. Everything that withholds or masks
 *  asks here. */
import { isVariableName } from '../model/attribute.ts';
import { isOwnName, saysSecret } from './secret-names.ts';
import { isPath, secretParts, urlsIn } from './secret-shapes.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Shorter texts are too common in ordinary output to be masked. */
const shortestMasked = 8;
/** Characters of a part of a secret that is masked by itself: shorter ones may be ordinary words. */
const shortestPart = 16;

/** A variable that holds a secret. */
export type Secret = {
  readonly name: string;
  /** Texts that appear in no record; none for a path or a short value. */
  readonly mask: readonly string[];
};

/** The variables of `env` that are secrets, sorted by name: those in `named`, those with the name of a secret, and those whose value has
 *  the shape of a secret. The engine's own settings are none, unless they are named. */
export function secretsOf(env: Environment, named: readonly string[] = []): readonly Secret[] {
  const isNamed = new Set(named);
  return Object.keys(env)
    .sort()
    .flatMap((name) => {
      const value = env[name];
      if (value === undefined || (isOwnName(name) && !isNamed.has(name))) return [];
      const whole = isNamed.has(name) || saysSecret(name, value);
      const parts = secretParts(value);
      if (!whole && parts.length === 0) return [];
      return [{ name, mask: worthMasking(whole ? [...wholeTexts(value), ...parts] : parts, name) }];
    });
}

/** In `env_pass`: all secrets. */
export const passesAll = '*';

export type StageEnvironment = {
  /** What the node gets. */
  readonly env: Record<string, string>;
  /** Sorted names of the secrets that it does not get. */
  readonly withheld: readonly string[];
  readonly secrets: readonly Secret[];
  /** Texts to mask in all output, whether the node gets the variables or not. */
  readonly mask: readonly string[];
};

/** The environment of a node: everything but secrets, and those secrets that `pass` names (`*`: all). `named` are secrets whatever
 *  they are called; `keys` are, too, and they pass. */
export function stageEnvironment(
  env: Environment,
  {
    pass = [],
    named = [],
    keys = [],
  }: {
    readonly pass?: readonly string[];
    readonly named?: readonly string[];
    readonly keys?: readonly string[];
  },
): StageEnvironment {
  const secrets = secretsOf(env, [...named, ...keys]);
  const passed = new Set([...pass, ...keys]);
  const withheld = passed.has(passesAll)
    ? []
    : secrets.map(({ name }) => name).filter((name) => !passed.has(name));
  const rest: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && !withheld.includes(name)) rest[name] = value;
  return { env: rest, withheld, secrets, mask: [...new Set(secrets.flatMap(({ mask }) => mask))] };
}

/** The names that `FACTORY_SECRETS` adds, or the first that is not the name of a variable. */
export function namedSecrets(
  env: Environment,
): { readonly names: readonly string[] } | { readonly bad: string } {
  const names = (env['FACTORY_SECRETS'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const bad = names.find((name) => !isVariableName(name));
  return bad === undefined ? { names } : { bad };
}

/** The texts to mask in what a program prints that gets the whole of `env`: in a node, or by hand. */
export function textsToMask(env: Environment): readonly string[] {
  const named = namedSecrets(env);
  return [...new Set(secretsOf(env, 'names' in named ? named.names : []).flatMap(({ mask }) => mask))];
}

/** The variables of `names` that a text names: as `$NAME`, or as a word that only a variable would be. */
export const namedIn = (text: string, names: readonly string[]): readonly string[] =>
  names.filter((name) => {
    const literal = name.replace(/[^A-Za-z0-9_]/g, '\\$&');
    const before = name.includes('_') ? '(?<![A-Za-z0-9_])' : '(?:\\$\\{?|env\\.|printenv\\s+|[[(]\\s*["\'])';
    return new RegExp(`${before}${literal}(?![A-Za-z0-9_])`).test(text);
  });

/** How the whole value of a secret is found in other texts. */
function wholeTexts(value: string): readonly string[] {
  const text = value.trim();
  const words = text.split(/[\s,;]+/);
  const urls = words.map((word) => urlsIn(word).find((url) => url.text === word));
  // Of a URL with a password only that is secret, and it is among the parts.
  if (urls.every((url) => url !== undefined))
    return urls.flatMap((url) =>
      url === undefined || url.passwords.length > 0
        ? []
        : url.path.length <= 1 && url.user === ''
          ? []
          : [url.text, ...[url.path, url.user, ...url.path.split(/[/?#&=]/)].filter(isLong)],
    );
  const fields = inJson(text);
  if (fields !== undefined) return [text, ...fields];
  const pair = /^[^\s:@/]+:(\S+)$/.exec(text)?.[1] ?? '';
  const isPart = (word: string) => isLong(word) && urlsIn(word).length === 0;
  return [text, pair, ...text.split(/[\s,;=]+/).filter(isPart)];
}

const isLong = (part: string): boolean => part.length >= shortestPart;

/** The secrets in a value that is JSON, such as the credentials of a service account. */
function inJson(text: string): readonly string[] | undefined {
  if (!/^[{[]/.test(text)) return undefined;
  try {
    return fieldsOf('', JSON.parse(text));
  } catch {
    return undefined;
  }
}

function fieldsOf(name: string, value: unknown): readonly string[] {
  if (typeof value === 'string')
    return [...secretParts(value), ...(saysSecret(name, value) ? wholeTexts(value) : [])];
  if (Array.isArray(value)) return value.flatMap((one: unknown) => fieldsOf(name, one));
  return typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, one]) => fieldsOf(key, one))
    : [];
}

/** The texts that are long enough, no paths, and not said by the name of the variable, as in `POSTGRES_PASSWORD=postgres`. White
 *  space around one is not part of the secret. */
function worthMasking(texts: readonly string[], name: string): string[] {
  const shown = name.toLowerCase();
  return [...new Set(texts.map((text) => text.trim()))].filter(
    (text) => text.length >= shortestMasked && !isPath(text) && !shown.includes(text.toLowerCase()),
  );
}
