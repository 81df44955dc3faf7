/** Canonical JSON: equal values have equal hashes. */
import type { Json } from './json.ts';
import { sha256 } from './sha256.ts';

/** JSON text in pure ASCII: everything outside it, and DEL, as `\uXXXX`. */
export const asciiJson = (value: Json, indent = 0): string =>
  JSON.stringify(value, null, indent).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** SHA-256 of the value's canonical JSON: keys sorted by code point, no blanks, ASCII only. */
export const canonicalHash = (value: Json): string => sha256(asciiJson(sortedKeys(value)));

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
