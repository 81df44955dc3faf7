import { sha256 } from './sha256.ts';

/** Values that can be written to a JSON file and read back unchanged. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** Ends a switch over a union: the compiler reports a forgotten variant. */
export function unreachable(value: never): never {
  throw new Error(`Internal: unexpected value ${JSON.stringify(value)}`);
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value of a JSON text; undefined where it is none. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Deepest nesting of objects and lists in a record. Values reported by nodes may have fewer levels, since they become
 *  part of a record. */
const mostLevels = 1000;
export const mostGivenLevels = 900;

/** As `JSON.parse`, but throws for a value nested so deeply that a recursive walk would exhaust the stack. */
export function parseJson(text: string, most = mostLevels): unknown {
  const value: unknown = JSON.parse(text);
  if (mayBeDeep(text, most) && levelsOf(value) > most)
    throw new Error(`it has more than ${most} levels of objects and lists`);
  return value;
}

/** An upper bound: brackets in strings count too. */
function mayBeDeep(text: string, most: number): boolean {
  if (text.length <= most * 2) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x7b || code === 0x5b) {
      if (++depth > most) return true;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return false;
}

function levelsOf(value: unknown): number {
  let levels = 0;
  for (let row = [value]; row.length > 0; levels++)
    row = row.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  return levels;
}

/** A record's own value of a key: a node may be called `constructor`, which every object inherits. */
export const own = <T>(record: { readonly [key: string]: T }, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;

/** Sets an own key of the record, even `__proto__`. */
export function put<T>(record: Record<string, T>, key: string, value: T): void {
  if (key !== '__proto__') record[key] = value;
  else Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true });
}

/* Canonical JSON: equal values have equal hashes. */

/** JSON text in pure ASCII: everything outside it, and DEL, as `\uXXXX`. */
export const asciiJson = (value: Json, indent = 0): string =>
  JSON.stringify(value, null, indent).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** SHA-256 of the value's canonical JSON: keys sorted by code point, no blanks, ASCII only. */
export const canonicalHash = (value: Json): string => sha256(canonicalJson(value));

/** One text for equal values: keys sorted by code point, ASCII. */
export const canonicalJson = (value: Json): string => asciiJson(sortedKeys(value));

/** The value with the keys of every object sorted by code point. */
export function sortedKeys(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sortedKeys);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => byCodePoint(a, b))
      .map(([key, item]) => [key, sortedKeys(item)]),
  );
}

// Surrogates sort below U+E000 as code units but above it as characters.
function byCodePoint(a: string, b: string): number {
  const left = [...a];
  const right = [...b];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = (left[i]?.codePointAt(0) ?? 0) - (right[i]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}
