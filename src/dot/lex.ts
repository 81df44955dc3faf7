/** The author's text as tokens: the dialect's words, strings and signs, each with its place. */
import { skipBlank } from './blank.ts';
import { endOfString, textOfString } from './literal.ts';

export type Sign = '->' | '--' | '{' | '}' | '[' | ']' | ';' | ',' | '=' | ':' | '+';
export type Token = {
  readonly kind: 'word' | 'string' | 'html' | Sign | 'end';
  /** The word as written, the string's value, the sign. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
};

/** What cannot be a token at all. */
export type BadText = {
  readonly code: string;
  readonly message: string;
  readonly start: number;
  readonly end: number;
  readonly fix: string;
};

export type Lexed = {
  /** The last one is `end`. */
  readonly tokens: readonly Token[];
  readonly bad: readonly BadText[];
  /** True when a string or comment runs to the end of the text, so that what is missing after it is no news. */
  readonly cut: boolean;
};

const signs: ReadonlySet<string> = new Set(['{', '}', '[', ']', ';', ',', '=']);
const stops = /[\s"[\]{};,#]/;

/** The end of the word at `start`. A value may hold signs that a key or an id may not (`https:`, `x>=5`, `a=b`). */
function endOfWord(text: string, start: number, role: 'id' | 'key' | 'value'): number {
  let at = start;
  for (; at < text.length; at++) {
    const c = text[at] ?? '';
    const next = text[at + 1];
    if (stops.test(c) || (c === '/' && (next === '/' || next === '*'))) break;
    if (c === '-' && next === '>') break;
    if (c === '\\' && (next === '\n' || next === '\r')) break;
    if (role === 'value') {
      if ((c === '<' || c === '=') && at === start) break;
      continue;
    }
    if (c === '=' || c === '<' || c === '+') break;
    if (role === 'id' && (c === ':' || (c === '-' && next === '-'))) break;
  }
  return Math.max(at, start + 1);
}

/** The offset after an HTML value, what is stuck to its closing `>` included; undefined when it is never closed. */
function endOfHtml(text: string, start: number): number | undefined {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const c = text[at] ?? '';
    if (c === '<') depth++;
    else if (depth === 0 && /[\s,;\]}]/.test(c)) return at;
    else if (c === '>') depth--;
  }
  return undefined;
}

/** Takes a text apart. Never throws. */
export function lex(text: string): Lexed {
  const tokens: Token[] = [];
  const bad: BadText[] = [];
  let cut = false;
  let inList = false;
  // Once one is never closed, what follows it is not searched again for each of the signs in it.
  let closesHtml = true;
  let at = 0;

  const push = (kind: Token['kind'], start: number, end: number, said = text.slice(start, end)) => {
    tokens.push({ kind, text: said, start, end });
    at = end;
  };

  for (;;) {
    const blank = skipBlank(text, at);
    at = blank.at;
    if (blank.unclosed !== undefined) {
      cut = true;
      bad.push({
        code: 'unclosed-comment',
        message: 'this comment is never closed',
        start: blank.unclosed,
        end: blank.unclosed + 2,
        fix: 'close it with */',
      });
    }
    if (at >= text.length) break;

    const c = text[at] ?? '';
    const previous = tokens.at(-1);
    const afterEquals = previous?.kind === '=';
    if (c === '"') {
      const end = endOfString(text, at);
      if (end === undefined) {
        cut = true;
        bad.push({
          code: 'unclosed-string',
          message: 'this string is never closed',
          start: at,
          end: at + 1,
          fix: 'close it with a double quote, or write \\" for a quote inside a string',
        });
        push('string', at, text.length, text.slice(at + 1));
        break;
      }
      const before = tokens.at(-2);
      if (previous?.kind === '+' && before?.kind === 'string') {
        tokens.length -= 2;
        push('string', before.start, end, before.text + textOfString(text, at, end));
      } else push('string', at, end, textOfString(text, at, end));
    } else if (c === '-' && text[at + 1] === '>') push('->', at, at + 2);
    else if (c === '-' && text[at + 1] === '-' && !afterEquals) push('--', at, at + 2);
    else if (signs.has(c)) {
      if (c === '[') inList = true;
      else if (c === ']' || c === '{' || c === '}') inList = false;
      push(c as Sign, at, at + 1); // `signs` holds nothing else
    } else if (c === '+' && previous?.kind === 'string') push('+', at, at + 1);
    else if (c === ':' && !inList && !afterEquals) push(':', at, at + 1);
    else if (c === '<') {
      const end: number | undefined = closesHtml ? endOfHtml(text, at) : undefined;
      closesHtml = end !== undefined;
      push('html', at, end ?? at + 1);
    } else push('word', at, endOfWord(text, at, afterEquals ? 'value' : inList ? 'key' : 'id'));
  }
  tokens.push({ kind: 'end', text: '', start: text.length, end: text.length });
  return { tokens, bad, cut };
}
