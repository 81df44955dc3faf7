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
  /** The first string that looks like what should stand between two: a quote before it is missing or one too many. */
  readonly turned: Turned | undefined;
};

/** From its opening quote to its closing one, and the text that is stuck to that. */
export type Turned = { readonly start: number; readonly end: number; readonly before: string };

// Each takes many times the memory of its text.
const mostTokens = 4_000_000;

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
    if (role === 'value') continue;
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

// What is meant as an arrow and is none; only where an id may stand.
const noArrow = /-{2,}\s*>+|-{3,}|->>+|-\s+>|<-+>?|[\u2010-\u2015\u2212]+\s*>?|[→⇒⟶⟹➔➜]/y;
// Blanks to the eye, or nothing at all, but no blanks of the language.
const noBlank = /[\u00A0\u00AD\u0085\u1680\u2000-\u200B\u2028\u2029\u202F\u205F\u2060\u3000\uFEFF]/y;

const foundAt = (form: RegExp, text: string, at: number): string | undefined => {
  form.lastIndex = at;
  return form.exec(text)?.[0];
};

/** Where quotes are turned inside out, a text ends as the sign before a string does, and the string's first word is
 *  stuck to it: `="`, `+ "`, `-> "`. */
function turnedAt(text: string, previous: Token | undefined, at: number): number | undefined {
  if (previous?.kind !== 'string' || previous.end !== at) return undefined;
  // Of strings joined by + the last one.
  let start = previous.start;
  for (let end = endOfString(text, start); end !== undefined && end < at; end = endOfString(text, start))
    start = text.indexOf('"', end);
  return /(?:=|\+|->)\s*$/.test(text.slice(Math.max(start + 1, at - 20), at - 1)) ? start : undefined;
}

/** Takes a text apart. Never throws. */
export function lex(text: string): Lexed {
  const tokens: Token[] = [];
  const bad: BadText[] = [];
  let cut = false;
  let turned: Turned | undefined;
  let inList = false;
  // Once one is never closed, what follows it is not searched again for each of the signs in it.
  let closesHtml = true;
  let at = 0;

  const push = (kind: Token['kind'], start: number, end: number, said = text.slice(start, end)) => {
    tokens.push({ kind, text: said, start, end });
    at = end;
  };

  /** The end of a value that a comment would cut short, which is refused. */
  const commented = (from: number): number => {
    const end = from + text.slice(from, from + 1000).search(/[\s"[\]{};,]|$/);
    bad.push({
      code: 'syntax',
      message: `${text[from] === '#' ? '#' : '//'} begins a comment, also in a value without quotes`,
      start: from,
      end,
      fix: 'write the value in double quotes',
    });
    return end;
  };

  for (;;) {
    // With a blank behind it, it is meant as a comment.
    const hash = text[at] === '#' && /\S/.test(text[at + 1] ?? '');
    if (hash && tokens.at(-1)?.kind === '=' && tokens.at(-1)?.end === at) push('word', at, commented(at));
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
    if (tokens.length >= mostTokens) {
      cut = true;
      bad.push({
        code: 'too-large',
        message: `the file has more than ${mostTokens} words and signs`,
        start: at,
        end: at,
        fix: 'split the pipeline',
      });
      break;
    }

    const c = text[at] ?? '';
    const previous = tokens.at(-1);
    const afterEquals = previous?.kind === '=';
    const odd = c < '\x80' ? undefined : foundAt(noBlank, text, at);
    if (odd !== undefined) {
      const name = `U+${(odd.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
      bad.push({
        code: 'invisible',
        message: `the character ${name} stands here, which cannot be seen and is no blank of the language`,
        start: at,
        end: at + odd.length,
        fix: 'remove it, or write a plain blank',
      });
      at += odd.length;
      continue;
    }
    const start = turned === undefined && !/[{}[\];,=+:-]/.test(c) ? turnedAt(text, previous, at) : undefined;
    if (start !== undefined) {
      const before = text.slice(at, c === '"' ? at + 1 : endOfWord(text, at, 'id'));
      turned = { start, end: at, before };
    }
    const mayBeArrow = !inList && !afterEquals && (c === '-' || c === '<' || c >= '\x80');
    const arrow = mayBeArrow ? foundAt(noArrow, text, at) : undefined;
    if (arrow !== undefined) {
      bad.push({
        code: 'syntax',
        message: `${arrow} is no arrow`,
        start: at,
        end: at + arrow.length,
        fix: arrow.startsWith('<') ? 'edges lead from left to right: write b -> a for a <- b' : 'write ->',
      });
      push('->', at, at + arrow.length);
    } else if (c === '"') {
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
    } else {
      const role = afterEquals ? 'value' : inList ? 'key' : 'id';
      const end = endOfWord(text, at, role);
      const cutValue = role === 'value' && text[end - 1] === ':' && text.startsWith('//', end);
      push('word', at, cutValue ? commented(at) : end);
    }
  }
  tokens.push({ kind: 'end', text: '', start: text.length, end: text.length });
  return { tokens, bad, cut, turned };
}
