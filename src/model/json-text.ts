/** The JSON in a model's answer: the whole answer or one code fence around all of it; prose is not searched. */
import type { Json } from './json.ts';

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
    return { value: JSON.parse(text) as Json };
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
