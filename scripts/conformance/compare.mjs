/** Compares expected with actual values and describes the differences. */
import { constants } from 'node:os';

/** A short form of a value. */
export function short(value) {
  const text = (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined')).replace(
    /\n/g,
    '\\n',
  );
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

/** Equal as JSON; the order of keys does not matter. */
export function same(a, b) {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]))
  );
}

/** The exit code of a process as cases give it: a process that a signal ended has the negative number of the signal. */
export const exitCodeOf = ({ code, signal }) => code ?? (signal ? -constants.signals[signal] : null);

/** Whether a process ended with the expected exit code, or one of several. */
export const endedWith = (run, expected) => [expected].flat().includes(exitCodeOf(run));

/** Whether `value` has everything that `part` has. */
export function includes(value, part) {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return same(value, part);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(part).every(([key, item]) => includes(value[key], item));
}

/** The value at a JSON pointer; undefined if there is none. */
export function at(value, pointer) {
  if (pointer === '') return value;
  return pointer
    .replace(/^\//, '')
    .split('/')
    .map((part) => part.replace(/~1/g, '/').replace(/~0/g, '~'))
    .reduce((here, key) => (typeof here === 'object' && here !== null ? here[key] : undefined), value);
}

/** Collects the problems of one case. */
export function findings(prefix = '') {
  const problems = [];
  const differs = (what, expected, got) =>
    problems.push(`${prefix}${what}: expected ${short(expected)}, got ${short(got)}`);
  return {
    problems,
    differs,
    equal: (what, expected, got) => {
      if (!same(expected, got)) differs(what, expected, got);
    },
    /** For checks other than a comparison of two values; `holds` is the result. */
    check: (what, holds, expected, got) => {
      if (!holds) differs(what, expected, got);
    },
    contains: (what, text, parts) => {
      for (const part of [parts ?? []].flat())
        if (!(text ?? '').includes(part)) differs(what, `a text with ${short(part)}`, text ?? 'nothing');
    },
    lacks: (what, text, parts) => {
      for (const part of [parts ?? []].flat())
        if ((text ?? '').includes(part)) differs(what, `no ${short(part)}`, text);
    },
  };
}
