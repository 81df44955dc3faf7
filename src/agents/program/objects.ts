/** The JSON objects in an answer that has other text around them. */
import { stripVTControlCharacters } from 'node:util';
import type { Json, JsonObject } from '../../model/json.ts';
import { mostGivenLevels, parseJson } from '../../model/json.ts';

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An answer without what is none of it: a byte order mark, colours, the model's reasoning between `<think>` tags. Reasoning
 *  that is never closed lasts to the end; one that is never opened began with the answer. */
export function bareAnswer(text: string): string {
  const plain = stripVTControlCharacters(text.replace(/^\ufeff/, ''));
  const tags = /<(\/?)think(?:ing)?>/gi;
  let kept = '';
  let from = 0;
  let open = false;
  for (const { index, 0: tag, 1: slash } of plain.matchAll(tags)) {
    if (slash === '' && !open) kept += plain.slice(from, index);
    // Nothing before a tag that closes is part of the answer, if none was opened.
    if (slash !== '' && !open) kept = '';
    open = slash === '';
    from = index + tag.length;
  }
  return open ? kept : kept + plain.slice(from);
}

/** A text that begins with a brace: the object that it is, or its text where it is none. */
export type Found = { readonly object: JsonObject; readonly text: string } | { readonly broken: string };

/** Those that begin a line, or follow a word and a colon there (`Verdict: {…}`), in order, with what is inside of them left out.
 *  Any other object within a line is quoted: the sentence around it says what it means. */
export function objectsIn(text: string): readonly Found[] {
  const found: Found[] = [];
  const begin = /^[ \t]*([*_#]*\w{1,20}[*_]*:[*_]*[ \t]*)?\{/gm;
  // Braces that are never closed are each looked for to the end of the text.
  let left = 5 * text.length + 1_000_000;
  for (let at = begin.exec(text); at !== null && left > 0; at = begin.exec(text)) {
    const from = at.index + at[0].length - 1;
    const end = endOfObject(text, from);
    const one = text.slice(from, end ?? text.length);
    const object = end === undefined ? undefined : parsed(one);
    left -= one.length;
    // What a word and a colon begin may be code.
    if (object !== undefined) found.push({ object, text: one });
    else if (at[1] === undefined) found.push({ broken: one });
    // Of a broken one the braces say nothing about where it ends.
    begin.lastIndex = object === undefined ? nextLine(text, from) : from + one.length;
  }
  return found;
}

const nextLine = (text: string, from: number): number => {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
};

function parsed(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text, mostGivenLevels) as Json; // it returns JSON, but its type is unknown
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** After the closing brace; undefined where it is not closed. */
function endOfObject(text: string, from: number): number | undefined {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const c = text[at];
    if (c === '"') at = endOfString(text, at);
    else if (c === '{') depth += 1;
    else if (c === '}' && --depth === 0) return at + 1;
  }
  return undefined;
}

/** The place of the closing quote, or the end of the text. */
function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at;
  }
  return text.length;
}

/** The number of times that an object's text has a key at this depth; 1 is that of the object's keys. `JSON.parse` takes the last one
 *  without a word. */
export function timesOfKey(text: string, key: string, level = 1): number {
  let times = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const c = text[at];
    if (c === '{' || c === '[') depth += 1;
    else if (c === '}' || c === ']') {
      if (--depth === 0) break;
    } else if (c === '"') {
      const end = endOfString(text, at);
      if (
        depth === level &&
        /^\s*:/.test(text.slice(end + 1, end + 80)) &&
        nameIn(text.slice(at, end + 1)) === key
      )
        times += 1;
      at = end;
    }
  }
  return times;
}

function nameIn(quoted: string): unknown {
  try {
    return JSON.parse(quoted);
  } catch {
    return undefined;
  }
}
