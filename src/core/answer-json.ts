/** The JSON in a model's answer: the whole answer or one code fence around all of it; prose is not searched. */
import { stripVTControlCharacters } from 'node:util';
import { isObject, type Json, type JsonObject, jsonIn, mostGivenLevels, parseJson } from './json.ts';
import { mapJson } from './json-places.ts';

/** Most characters (code points) an answer may have. */
export const maxAnswerCharacters = 10_485_760;
/** Deeper than any plan; deeper text would exhaust the stack of recursive readers. */
const maxDepth = 400;

export type Extracted = { readonly value: Json } | { readonly problem: string };

/** Parses an answer. `problem` describes what is wrong, beginning in lower case. Never throws. */
export function extractJson(answer: string): Extracted {
  if (isLongerThan(answer, maxAnswerCharacters)) {
    return { problem: `the answer is larger than ${maxAnswerCharacters} characters` };
  }
  const text = unfence(strip(answer));
  if (text === '') return { problem: 'the answer is empty' };
  const shape = outline(text);
  if (shape === 'deep') return { problem: `the answer is nested deeper than ${maxDepth} levels` };
  try {
    // JSON.parse returns JSON, but its type is any.
    const value = JSON.parse(text) as Json;
    const map = mapJson(text);
    const [twice] = 'duplicates' in map ? map.duplicates : [];
    // JSON.parse takes the last one without a word.
    return twice === undefined
      ? { value }
      : { problem: `the answer has the key ${JSON.stringify(twice.key.slice(0, 80))} twice in one object` };
  } catch (error) {
    return { problem: describe(text, shape, error) };
  }
}

function isLongerThan(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  if (text.length > limit * 2) return true;
  let characters = 0;
  for (let i = 0; i < text.length; i++, characters++) if ((text.codePointAt(i) ?? 0) > 0xffff) i++;
  return characters > limit;
}

function unfence(text: string): string {
  if (!text.startsWith('```')) return text;
  const lines = text.split('\n').slice(1);
  if (strip(lines.at(-1) ?? '').startsWith('```')) lines.pop();
  return strip(lines.join('\n'));
}

/** The state of a text's brackets: `whole` (closed at the end), `cut` (something is still open at the end), `more`
 *  (something follows the first closed value), `deep`. */
type Outline = 'whole' | 'cut' | 'more' | 'deep';

function outline(text: string): Outline {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (inString) {
      if (c === 0x5c) i++;
      else if (c === 0x22) inString = false;
    } else if (c === 0x22) inString = true;
    else if (c === 0x7b || c === 0x5b) {
      depth++;
      if (depth > maxDepth) return 'deep';
    } else if (c === 0x7d || c === 0x5d) {
      depth--;
      if (depth <= 0) return i === text.length - 1 ? 'whole' : 'more';
    }
  }
  return inString || depth > 0 ? 'cut' : 'whole';
}

function describe(text: string, shape: Outline, error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  const start = JSON.stringify(text.slice(0, 40));
  if (text.startsWith('\ufeff')) return 'the answer begins with a byte order mark';
  if (!/^[[{]/.test(text)) return `the answer begins with prose (${start}) instead of a JSON object`;
  if (shape === 'cut') return `the answer stops in the middle of the JSON, after ${text.length} characters`;
  if (shape === 'more' && /after JSON/.test(reason)) return 'the answer has text after the JSON object';
  return `the answer is not valid JSON: ${reason}`;
}

// The characters that count as blank at both ends of a text. Unlike `String.trim`, these include the information
// separators and NEL but not the byte order mark.
const blank = '[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';
const isBlank = new RegExp(`^${blank}$`);

/** `text` without blanks at both ends. */
export function strip(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank.test(text.charAt(start))) start++;
  while (end > start && isBlank.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

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
export type FoundObject =
  | { readonly object: JsonObject; readonly text: string }
  | { readonly broken: string };

/** Those that begin a line, or follow a word and a colon there (`Verdict: {…}`), and others on the line of one, in order, with
 *  what is inside of them left out. Any other object within a line is quoted: the sentence around it says what it means. */
export function objectsIn(text: string): readonly FoundObject[] {
  const found: FoundObject[] = [];
  const begin = /^[ \t]*([*_#]*\w{1,20}[*_]*:[*_]*[ \t]*)?\{/gm;
  // Braces that are never closed are each looked for to the end of the text.
  let left = 5 * text.length + 1_000_000;
  for (let at = begin.exec(text); at !== null && left > 0; at = begin.exec(text)) {
    let from = at.index + at[0].length - 1;
    for (let isFirst = true; from >= 0 && left > 0; isFirst = false) {
      const end = endOfObject(text, from);
      const one = text.slice(from, end ?? text.length);
      const object = end === undefined ? undefined : parsed(one);
      left -= one.length;
      // What a word and a colon begin may be code.
      if (object !== undefined) found.push({ object, text: one });
      else if (!isFirst || at[1] === undefined) found.push({ broken: one });
      // Of a broken one the braces say nothing about where it ends.
      begin.lastIndex = object === undefined ? nextLine(text, from) : from + one.length;
      // Another object on the line of a whole one is part of the answer too.
      from =
        object === undefined
          ? -1
          : text.slice(0, nextLine(text, begin.lastIndex)).indexOf('{', begin.lastIndex);
    }
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
        jsonIn(text.slice(at, end + 1)) === key
      )
        times += 1;
      at = end;
    }
  }
  return times;
}
