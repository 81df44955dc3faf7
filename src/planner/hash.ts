/** The hashes by which plans and work orders are recognised again. */
import { createHash } from 'node:crypto';
import type { Json } from '../model/json.ts';
import { isList, isObject } from './normalize.ts';

export const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');

/** Names what a plan is compiled from: the first 16 hex digits of the SHA-256 of spec, template, model and
 *  reasoning effort, joined by line feeds. */
export function compileHash(from: {
  spec: Uint8Array;
  template: Uint8Array;
  model: string;
  effort: string;
}): string {
  const hash = createHash('sha256').update(from.spec).update('\n').update(from.template);
  return hash.update(`\n${from.model}\n${from.effort}`).digest('hex').slice(0, 16);
}

/** JSON text in pure ASCII: everything outside it, and DEL, as `\uXXXX`. */
export const asciiJson = (value: Json, indent = 0): string =>
  JSON.stringify(value, null, indent).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** SHA-256 of the value's canonical JSON: keys sorted by code point, no blanks, ASCII only. */
export const canonicalHash = (value: Json): string => sha256(asciiJson(sorted(value)));

/** The value with all keys sorted by code point. */
export function sorted(value: Json): Json {
  if (isList(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => byCodePoint(a, b))
      .map(([key, item]) => [key, sorted(item)]),
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
