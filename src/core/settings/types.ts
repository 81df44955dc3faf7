/** Types of attributes: how a text is read, and the tables that node types, agents, graph and edges declare. */
import type { Span } from '../diagnostic.ts';
import { nearestOf } from '../nearest.ts';
import { labelForm, labelFormWords } from '../records/job.ts';

/** The value, or why the text is invalid. */
export type Read<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      readonly why: string;
      readonly also?: readonly string[];
      /** The valid text that the author probably meant. */
      readonly meant?: string | undefined;
    };

export interface AttributeType<T> {
  /** The expected form, for messages: `a whole number of at least 0`. */
  readonly wants: string;
  /** A valid value, for people. */
  readonly example: string;
  /** Its JSON type in a request over HTTP, if that is not a string. */
  readonly json?: 'integer' | 'number';
  /** The values, where only some words are valid. */
  readonly words?: readonly string[];
  read(value: Value): Read<T>;
}

type Documented = {
  /** The default as an author would write it: where the text says nothing, the setting has that value. */
  readonly default?: string;
  /** What happens without the attribute, in words, where no value says it. */
  readonly unset?: string;
  readonly example?: string;
  /** The graph attribute that counts where a node is silent. */
  readonly graph?: string;
  /** The graph's list and the node's are joined. */
  readonly joined?: true;
  /** The command line flag for the same, with what it takes: `--max-wall <duration>`. */
  readonly flag?: string;
  /** What the command line's help says about the flag. */
  readonly help?: string;
  /** The environment variable that counts where neither flag nor text says anything. */
  readonly variable?: string;
  /** The name in the manifest, if it is another one. */
  readonly recorded?: string;
  /** The manifest has it only where a flag or the text sets it. */
  readonly recordedIfSet?: true;
  /** Whether a run that is started or resumed over HTTP may have it. */
  readonly http?: true;
  /** Its name in forms, for one that HTTP offers. */
  readonly title?: string;
};

/** An attribute of a table: how its text is read, its value where the text is silent, and a sentence about it for people. */
export type AttributeSpec<T = unknown, Silent = unknown> = AttributeType<T> &
  Documented & { readonly does: string; readonly otherwise: Silent; readonly example: string };

export type AttributeTable = { readonly [key: string]: AttributeSpec };

/** The values of a table's attributes; undefined for one without a default that the text does not set. */
export type Settings<T extends AttributeTable> = {
  readonly [K in keyof T]: T[K] extends AttributeSpec<infer V, infer S> ? V | S : never;
};

/** Declares an attribute: its type, what it does, its default. */
export function attr<T>(
  type: AttributeType<T>,
  does: string,
  more: Documented & { readonly default: string },
): AttributeSpec<T, T>;
export function attr<T>(
  type: AttributeType<T>,
  does: string,
  more?: Documented & { readonly default?: undefined },
): AttributeSpec<T, undefined>;
export function attr<T>(type: AttributeType<T>, does: string, more: Documented = {}): AttributeSpec<T> {
  const example = more.example ?? more.default ?? type.example;
  if (more.default === undefined) return { ...type, does, ...more, example, otherwise: undefined };
  const read = type.read({ kind: 'string', text: more.default });
  if (!read.ok) throw new Error(`Internal: the default "${more.default}" ${read.why}`);
  return { ...type, does, ...more, example, otherwise: read.value };
}

const yes = <T>(value: T): Read<T> => ({ ok: true, value });
const no = (why: string, meant?: string): Read<never> => ({ ok: false, why, meant });
const type = <T>(
  wants: string,
  example: string,
  read: (value: Value) => Read<T>,
  more: Pick<AttributeType<T>, 'json' | 'words'> = {},
): AttributeType<T> => ({ wants, example, read, ...more });

export const text = (): AttributeType<string> => type('a text', 'text', (v) => yes(v.text));

/** A text without the blanks around it: a name, a path, a list in another notation. */
export const trimmed = (wants = 'a text'): AttributeType<string> =>
  type(wants, 'name', (v) => yes(v.text.trim()));

/** A name for people. */
export const nameForPeople = (most = 200): AttributeType<string> =>
  type(`one line of at most ${most} characters`, 'nightly build', (v) => {
    const name = v.text.trim();
    if (name === '') return no('is blank');
    if (/[\p{Cc}\u2028\u2029]/u.test(name)) return no('has a line end or a control character');
    return name.length <= most ? yes(name) : no(`has more than ${most} characters`);
  });

/** A text as an author wrote it, and with its type: `3` is a number. */
export const scalar = (): AttributeType<{
  readonly text: string;
  readonly value: string | number | boolean;
}> =>
  type('a text or a number', 'text', (v) =>
    yes({ text: v.text, value: v.kind === 'string' || v.kind === 'duration' ? v.text : v.value }),
  );

export const flag = (): AttributeType<boolean> =>
  type('true or false', 'true', (v) => {
    if (v.kind === 'boolean') return yes(v.value);
    const word = v.text.trim();
    if (/^(1|t|true)$/i.test(word) && v.kind === 'string') return yes(true);
    if (/^(0|f|false)$/i.test(word) && v.kind === 'string') return yes(false);
    const meant = /^(?:y|yes|on)$/i.test(word) ? 'true' : /^(?:n|no|off)$/i.test(word) ? 'false' : undefined;
    return no('is neither true nor false', meant ?? nearestOf(word, ['true', 'false']));
  });

/** True, false, or another text, which says when it is true: a condition that only asks for success adds nothing. */
export const flagOrText = (): AttributeType<boolean | string> =>
  type('true, false, or when it is reached, in words', 'true', (v) => {
    const read = flag().read(v);
    const word = v.text.trim();
    // `yes` and misspelt words are mistakes, not criteria.
    if (read.ok || read.meant !== undefined) return read;
    return yes(/^outcome\s*={1,2}\s*["']?success["']?$/i.test(word) ? true : word);
  });

/** A whole number, also written as `2.0`. */
const wholeNumber = /^[+-]?\d+(?:\.0+)?$/;

/** Message for a number that is too large to be exact. */
export const tooLarge = `is too large: the most is ${Number.MAX_SAFE_INTEGER}`;

/** A whole number, `least` or more. */
export const count = (least = 0): AttributeType<number> =>
  type(
    `a whole number of at least ${least}`,
    String(Math.max(least, 3)),
    (v) => {
      const word = v.text.trim();
      const n = v.kind !== 'boolean' && wholeNumber.test(word) ? Number(word) : Number.NaN;
      if (Number.isNaN(n)) return no('is not a whole number');
      if (n < least) return no(`is less than ${least}`);
      return Number.isSafeInteger(n) ? yes(n) : no(tooLarge);
    },
    { json: 'integer' },
  );

/** A limit on repetitions: 0 for no limit, else 2 or more. */
export const atLeastTwo = (): AttributeType<number> =>
  type('0 (never) or a whole number of at least 2', '3', (v) => {
    const read = count().read(v);
    return read.ok && read.value === 1 ? no('is 1, but one occurrence is not a repetition') : read;
  });

/** Any whole number. */
export const integer = (): AttributeType<number> =>
  type('a whole number', '2', (v) => count(Number.MIN_SAFE_INTEGER).read(v));

/** A number, whole or not, `least` or more. */
export const number = (least: number): AttributeType<number> =>
  type(
    `a number of at least ${least}`,
    String(Math.max(least, 2)),
    (v) => {
      const n =
        v.kind === 'integer' || v.kind === 'float'
          ? v.value
          : v.kind === 'string'
            ? Number(v.text)
            : Number.NaN;
      if (v.text.trim() === '' || Number.isNaN(n)) return no('is not a number');
      if (!Number.isFinite(n)) return no(/\d/.test(v.text) ? 'is too large' : 'is not a number');
      return n < least ? no(`is less than ${least}`) : yes(n);
    },
    { json: 'number' },
  );

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** `250ms 900s 15m 2h 1d` in milliseconds, or undefined. */
export function durationMs(word: string): number | undefined {
  const match = /^(\d+)(ms|s|m|h|d)$/.exec(word.trim());
  return match?.[1] === undefined || match[2] === undefined
    ? undefined
    : Number(match[1]) * (unitMs[match[2]] ?? 1);
}

/** A duration in milliseconds; a whole number without a unit means seconds. */
export const duration = (): AttributeType<number> =>
  type('a duration such as 250ms, 900s, 15m, 2h or 1d', '15m', (v) => {
    const word = v.text.trim();
    const ms =
      v.kind === 'duration'
        ? v.ms
        : v.kind === 'integer'
          ? v.value * 1000
          : (durationMs(word) ?? (/^\d+$/.test(word) ? Number(word) * 1000 : undefined));
    if (ms !== undefined && ms < 0) return no('is negative');
    if (ms === undefined) return no('is not a duration', meantDuration(word));
    return Number.isSafeInteger(ms) ? yes(ms) : no(`is too long: the most is ${longestDays}d`);
  });

/** For `1 minute`, `90sec`, `1h30m`, `1.5h` and the like: the duration in our notation. */
function meantDuration(word: string): string | undefined {
  const parts = [...word.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)\.?\s*/gi)];
  if (parts.map(([part]) => part).join('') !== word || parts.length === 0) return undefined;
  const ms = parts.reduce(
    (sum, [, amount, unit = '']) => sum + Number(amount) * (unitMs[shortUnit(unit)] ?? NaN),
    0,
  );
  const unit = ['d', 'h', 'm', 's', 'ms'].find((one) => ms % (unitMs[one] ?? 1) === 0);
  // One part keeps its unit.
  const own = shortUnit(parts[0]?.[2] ?? '');
  const shown = parts.length === 1 && ms % (unitMs[own] ?? 1) === 0 ? own : unit;
  return shown === undefined ? undefined : `${ms / (unitMs[shown] ?? 1)}${shown}`;
}

const shortUnit = (unit: string): string =>
  /^(?:ms|msecs?|millis(?:econds?)?|milliseconds?)$/i.test(unit)
    ? 'ms'
    : /^(?:s|m|h|d|secs?|seconds?|mins?|minutes?|hrs?|hours?|days?)$/i.test(unit)
      ? unit.charAt(0).toLowerCase()
      : '';

const longestDays = Math.floor(Number.MAX_SAFE_INTEGER / 86_400_000);

const unitBytes: Readonly<Record<string, number>> = { b: 0, k: 1, m: 2, g: 3, t: 4 };
/** `512M 2GiB 100kB 1048576` in bytes, or undefined; units are powers of 1024. */
function bytesOf(word: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?) ?(?:([kmgt])(?:i?b)?|b)?$/i.exec(word.trim());
  if (match?.[1] === undefined) return undefined;
  const bytes = Math.round(Number(match[1]) * 1024 ** (unitBytes[(match[2] ?? 'b').toLowerCase()] ?? 0));
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** A size in bytes, `least` or more. */
export const bytes = (least: number): AttributeType<number> =>
  type('a size such as 512M, 4G or 1048576', '4G', (v) => {
    const size = bytesOf(v.text);
    if (size === undefined) return no('is not a size');
    return size < least ? no(`is less than ${least} bytes, too little for any program`) : yes(size);
  });

/** Comma-separated folders or files outside the workspace; `:rw` makes one writable. */
export const outsidePaths = (): AttributeType<readonly string[]> =>
  type(
    'a comma-separated list of paths that begin with / or ~/, each with :rw where it may be written',
    '~/.m2:rw',
    (v) => {
      const read = list().read(v);
      if (!read.ok) return read;
      for (const word of read.value) {
        const path = word.replace(/:(?:rw|ro)$/, '');
        if (!/^(?:\/|~\/|~$)/.test(path)) return no(`"${word}" begins with neither / nor ~/`);
        if (path.split('/').includes('..')) return no(`"${word}" contains ".."`);
        if (path.includes(':')) return no(`"${word}" ends with something else than :rw or :ro`);
        if (path.includes('\0')) return no(`"${word}" contains a NUL`);
      }
      return read;
    },
  );

/** Comma-separated words, trimmed; an empty entry is an error. */
export const list = (): AttributeType<readonly string[]> =>
  type('a comma-separated list', 'one, two', (v) => {
    const words = v.text.split(',').map((word) => word.trim());
    return words.includes('') ? no('has an empty entry') : yes(words);
  });

/** Whether this is a valid name of an environment variable. Systems accept more than shells do
 *  (`npm_config_//host/:_auth`). A blank means that a comma is missing; a leading `$` and a `*` (`AWS_*`) are mistakes. */
export const isVariableName = (name: string): boolean => /^[^\s=\0$*][^\s=\0*]*$/.test(name);

/** Comma-separated names of environment variables, or `*` for all secrets. */
export const variableNames = (): AttributeType<readonly string[]> =>
  type('a comma-separated list of names of variables, or "*" for all secrets', 'NPM_TOKEN', (v) => {
    const read = list().read(v);
    const wrong = read.ok ? read.value.find((name) => name !== '*' && !isVariableName(name)) : undefined;
    return wrong === undefined ? read : no(`"${wrong}" is not the name of a variable`);
  });

/** Comma-separated names of environment variables that hold secrets. */
export const secretNames = (): AttributeType<readonly string[]> =>
  type('a comma-separated list of names of variables', 'NPM_TOKEN', (v) => {
    const read = list().read(v);
    const wrong = read.ok ? read.value.find((name) => !isVariableName(name)) : undefined;
    return wrong === undefined ? read : no(`"${wrong}" is not the name of a variable`);
  });

/** One label of a run; a flag that is repeated makes a list of them. */
export const label = (): AttributeType<readonly string[]> =>
  type(`a label: ${labelFormWords}`, 'backend', (v) => {
    const word = v.text.trim();
    return labelForm.test(word) ? yes([word]) : no(`is not a label: ${labelFormWords}`);
  });

const pathProblem = (path: string): string | undefined => {
  if (path.startsWith('/')) return `"${path}" is absolute`;
  if (path.includes('..')) return `"${path}" contains ".."`;
  if (path.includes('\0')) return `"${path}" contains a NUL`;
  return undefined;
};

/** One path relative to the workspace. */
export const path = (): AttributeType<string> =>
  type('a path inside the workspace', 'app', (v) => {
    const problem = pathProblem(v.text.trim());
    return problem === undefined ? yes(v.text.trim()) : no(problem);
  });

const freePathProblem = (path: string): string | undefined =>
  path.startsWith('/') ? pathProblem(path.replace(/^\/+/, '')) : pathProblem(path);
const homeProblem = (path: string): string | undefined =>
  path.includes('~') ? `"${path}" contains "~", which nobody expands` : freePathProblem(path);

/** One path, absolute or relative to the workspace. */
export const anyPath = (): AttributeType<string> =>
  type('a path without ".." and "~"', 'app', (v) => {
    const problem = homeProblem(v.text.trim());
    return problem === undefined ? yes(v.text.trim()) : no(problem);
  });

/** Comma-separated paths, absolute or relative to the workspace. */
export const anyPaths = (): AttributeType<readonly string[]> =>
  type('a comma-separated list of paths without ".." and "~"', 'app, lib', (v) => {
    const read = list().read(v);
    const why = read.ok ? read.value.flatMap((word) => homeProblem(word) ?? [])[0] : read.why;
    return why === undefined ? read : no(why);
  });

/** Comma-separated paths relative to the workspace; a trailing slash means everything below. */
export const paths = (): AttributeType<readonly string[]> =>
  type('a comma-separated list of paths inside the workspace', 'src/, test/', (v) => {
    const read = list().read(v);
    const words = v.text.split(',').map((word) => word.trim());
    const found = words.flatMap((word) => pathProblem(word) ?? []);
    const [why, ...also] = [...new Set(read.ok ? found : [...found, read.why])];
    return why === undefined ? read : { ok: false, why, also };
  });

/** Comma-separated words, each from a fixed list. */
export const words = <const W extends string>(...known: readonly W[]): AttributeType<readonly W[]> =>
  type(`a comma-separated list of ${known.join(', ')}`, known.join(', '), (v) => {
    const read = list().read(v);
    if (!read.ok) return read;
    const found = read.value.flatMap((one) => known.filter((word) => word === one));
    const strange = read.value.find((one) => !known.some((word) => word === one));
    return strange === undefined
      ? yes(found)
      : no(`names "${strange}", which is none of ${known.join(', ')}`);
  });

/** One word from a fixed list. */
export const word = <const W extends string>(...words: readonly W[]): AttributeType<W> =>
  type(
    `one of ${words.join(', ')}`,
    words.at(-1) ?? '',
    (v) => {
      const text = v.text.trim();
      const found = words.find((w) => w === text);
      // A longer form of a word: `failed` for `fail`.
      const lower = text.toLowerCase();
      const meant =
        words.find((w) => lower.length > 1 && w.startsWith(lower)) ??
        nearestOf(text, words) ??
        words.find((w) => lower.startsWith(w) && w.length > 2);
      return found === undefined ? no(`is none of ${words.join(', ')}`, meant) : yes(found);
    },
    { words },
  );

/** Whether an attribute is empty, and so counts as absent. */
export const isBlank = ({ value }: Attribute): boolean => value.text.trim() === '';

/** Present and not empty. */
export function present(attrs: Attributes, key: string): Attribute | undefined {
  const attr = attrs.get(key);
  return attr === undefined || isBlank(attr) ? undefined : attr;
}

/** An attribute's value. `text` is the author's text; in strings, escapes are resolved. */
export type Value =
  | { readonly kind: 'string'; readonly text: string }
  | { readonly kind: 'boolean'; readonly text: string; readonly value: boolean }
  | { readonly kind: 'integer'; readonly text: string; readonly value: number }
  | { readonly kind: 'float'; readonly text: string; readonly value: number }
  | { readonly kind: 'duration'; readonly text: string; readonly ms: number };

export type Attribute = {
  /** Canonical name (`tool_command`, also where the author wrote `script`). */
  readonly key: string;
  /** The name as written. */
  readonly written: string;
  readonly value: Value;
  readonly quoted: boolean;
  /** `node [ ]` or `edge [ ]` says it for all that follow. */
  readonly byDefault?: true;
  readonly keySpan: Span;
  readonly valueSpan: Span;
};

export type Attributes = ReadonlyMap<string, Attribute>;
