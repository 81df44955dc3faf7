/** Texts of two runs of one pipeline in a form in which they can be compared: run ids, run directories, times, durations,
 *  process ids and commit hashes are alike. */
import { type Json, type JsonObject, own, sortedKeys } from '../core/json.ts';
import { realOf } from '../workspace/roots.ts';

/** A run as its texts name it. */
export type RunNames = {
  readonly runId: string;
  /** Absolute paths of its directory. */
  readonly dirs: readonly string[];
};

/** The names of a run; `runDir` is absolute, and need not exist any more. */
export const runNames = (runId: string, runDir: string): RunNames => ({
  runId,
  dirs: [...new Set([runDir, realOf(runDir)])],
});

/** Brings texts of any of these runs to one form. With `exactTimes` times and durations are left as they are. */
export function normalForm(
  runs: readonly RunNames[],
  { exactTimes = false }: { readonly exactTimes?: boolean } = {},
): (text: string) => string {
  const unnamed = withoutNames(runs);
  return (text) => {
    const named = unnamed(text).replace(/(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])/g, '<commit>');
    return exactTimes ? named : withoutTimes(named);
  };
}

/** Texts in which these runs have no names. */
export function withoutNames(runs: readonly RunNames[]): (text: string) => string {
  const dirs = runs.flatMap((run) => run.dirs);
  const ids = runs.map(({ runId }) => new RegExp(`(?<![A-Za-z0-9_])${escaped(runId)}(?![A-Za-z0-9_])`, 'g'));
  // An id may be a common word, which texts of both runs have: all ids become the same.
  return (text) => ids.reduce((so, id) => so.replace(id, '<run id>'), renameDirs(text, dirs, '<run>'));
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

const withoutTimes = (text: string): string =>
  text
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?/g, '<time>')
    .replace(/\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b/g, '<time>')
    .replace(/((?:_ms|elapsed|duration)\w{0,20}"?[ \t]*[:=]?[ \t]*)\d+(?:\.\d+)?/g, '$1<duration>')
    .replace(/\b\d+(?:\.\d+)?[ \t]?(?:ms|µs|us|ns)\b/g, '<duration>')
    .replace(/\b\d+\.\d+[ \t]?(?:s|secs?|seconds)\b/g, '<duration>')
    .replace(/\b(pid[ \t]*[:=]?[ \t]*)\d+/gi, '$1<pid>');

/** The text with `to` in place of these directories. */
const renameDirs = (text: string, dirs: readonly string[], to: string): string =>
  // A directory may lie in another one of them.
  [...dirs]
    .sort((a, b) => b.length - a.length)
    .reduce((so, dir) => so.replace(new RegExp(`${escaped(dir)}(?![A-Za-z0-9_-])`, 'g'), () => to), text);

/** The same for all texts in a JSON value. */
export function renameDirsIn(value: Json, dirs: readonly string[], to: string): Json {
  if (typeof value === 'string') return renameDirs(value, dirs, to);
  if (Array.isArray(value)) return value.map((one) => renameDirsIn(one, dirs, to));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, renameDirsIn(one, dirs, to)]));
}

export type FieldDifference = {
  /** Dotted path; empty for the whole value. */
  readonly field: string;
  /** The two values as JSON, shortened. */
  readonly was: string;
  readonly is: string;
};

/** The first field in which two JSON values differ in their normal form; undefined if there is none. */
export function firstDifferentField(
  was: Json | undefined,
  is: Json | undefined,
  normal: (text: string) => string,
  path: readonly string[] = [],
): FieldDifference | undefined {
  // The key is part of the text: the normal form of a duration depends on its name.
  const textOf = (value: Json | undefined) =>
    JSON.stringify(value === undefined ? null : sortedKeys({ [path.at(-1) ?? '']: value }));
  const [a, b] = [textOf(was), textOf(is)];
  if (a === b || normal(a) === normal(b)) return undefined;
  if (isContainer(was) && isContainer(is))
    for (const key of new Set([...Object.keys(was), ...Object.keys(is)])) {
      const found = firstDifferentField(own(was, key), own(is, key), normal, [...path, key]);
      if (found !== undefined) return found;
    }
  return { field: path.join('.'), was: shown(was), is: shown(is) };
}

const isContainer = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null;

const shown = (value: Json | undefined): string => {
  const text = value === undefined ? '(nothing)' : JSON.stringify(value);
  return text.length > 300 ? `${text.slice(0, 299)}…` : text;
};

/** The first line in which two texts differ: in a sentence, and as a diff. */
export function firstDifference(
  was: string,
  is: string,
): { readonly sentence: string; readonly diff: string } {
  const [old, fresh] = [was.split('\n'), is.split('\n')];
  const at = old.findIndex((line, n) => line !== fresh[n]);
  const n = at < 0 ? old.length : at;
  const [a, b] = [old[n], fresh[n]];
  const diff = [
    a === undefined ? [] : [`- ${a.slice(0, 500)}`],
    b === undefined ? [] : [`+ ${b.slice(0, 500)}`],
  ];
  return {
    sentence: `line ${n + 1} was ${excerpt(a, b)} and is ${excerpt(b, a)}`,
    diff: diff.flat().join('\n'),
  };
}

/** Characters of a line that are shown, and how many of them before the first that differs. */
const mostShown = 160;
const shownBefore = 40;

function excerpt(line: string | undefined, other: string | undefined): string {
  if (line === undefined) return 'nothing';
  let from = 0;
  while (from < line.length && line[from] === other?.[from]) from += 1;
  const begin = line.length <= mostShown ? 0 : Math.max(0, from - shownBefore);
  const part = line.slice(begin, begin + mostShown);
  return JSON.stringify(`${begin > 0 ? '…' : ''}${part}${begin + mostShown < line.length ? '…' : ''}`);
}
