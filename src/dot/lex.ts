/** Splits the author's text into tokens (words, strings, signs) and comments, each with its place. */
import { endOfString, type Range, skipBlank } from './scan.ts';

export type Sign = '->' | '{' | '}' | '[' | ']' | ';' | ',' | '=' | '+';
/** Strings joined by + are one token. */
export type Token = Range & { readonly kind: 'word' | 'string' | 'html' | Sign | 'end' };

/** Something in the author's text that is refused. */
export type BadText = Range & { readonly code: string; readonly message: string; readonly fix: string };

export type Lexed = {
  /** The last one is `end`. */
  readonly tokens: readonly Token[];
  readonly comments: readonly Range[];
  readonly bad: readonly BadText[];
  /** True if a string or comment is never closed. The text from there on is ignored. */
  readonly unclosed: boolean;
  /** The first string or word followed by another without a blank: a quote may be missing. */
  readonly stuck: Range | undefined;
};

export const isLiteral = (token?: Token): token is Token & { kind: 'word' | 'string' | 'html' } =>
  token?.kind === 'word' || token?.kind === 'string' || token?.kind === 'html';

/** A word up to one of `stops` or to the end of any word: a blank, a sign, a comment, an arrow, a continued line. */
const wordUpTo = (stops: string, arrow: string): RegExp =>
  new RegExp(`(?:[^\\s"[\\]{};,#/\\\\${stops}-]|/(?![/*])|-(?!${arrow})|\\\\(?![\\r\\n]))+`, 'y');
// A value may hold signs that a key or an id may not: `https:`, `x>=5`, `a=b`.
const words = { value: wordUpTo('', '>'), key: wordUpTo('=<+', '>'), id: wordUpTo('=<+:', '[->]') };
const signs = /->|[[\]{};,=+]/y;
const port = /(?::\s*(?:\w*|"[^"]*"))+/y;
const html = /<[\s\S]*?>(?=\s*[,;\]}]|\s*$)/y;
// Misspelt arrows; only in places where an id is allowed.
const badArrow = /=>|-{2,}(?:\s*>+)?|->>+|-\s+>|<-+>?|[\u2010-\u2015\u2212]+\s*>?|[→⇒⟶⟹➔➜]/y;
// Colours and addresses. A `#` before a blank begins a comment.
const commentedValue = /(?:#(?=\S)|[\w.+-]+:\/\/)[^\s"[\]{};,]*/y;

/** Splits a text. Never throws. */
export function lex(text: string): Lexed {
  const tokens: Token[] = [];
  const comments: Range[] = [];
  const bad: BadText[] = [];
  let unclosed = false;
  let stuck: Range | undefined;
  let inList = false;
  let at = 0;

  const match = (form: RegExp): number => {
    form.lastIndex = at;
    return form.exec(text)?.[0].length ?? 0;
  };
  const push = (kind: Token['kind'], end: number): void => {
    tokens.push({ kind, start: at, end });
    at = end;
  };
  const refuse = (code: string, end: number, message: string, fix: string) =>
    void bad.push({ code, start: at, end, message, fix });

  const takeString = (): void => {
    const end = endOfString(text, at);
    if (end === undefined) {
      unclosed = true;
      const fix = 'close it with a double quote, or write \\" for a quote inside a string';
      refuse('unclosed-string', at + 1, 'this string is never closed', fix);
      return;
    }
    const first = tokens.at(-2);
    if (tokens.at(-1)?.kind === '+' && first?.kind === 'string') {
      tokens.length -= 2;
      at = first.start;
    }
    push('string', end);
  };
  /** A value that contains the start of a comment: `#ff0000`, `https://x.y`. */
  const takeCommentedValue = (): boolean => {
    const length = tokens.at(-1)?.kind === '=' ? match(commentedValue) : 0;
    if (length === 0) return false;
    const message = `${text[at] === '#' ? '#' : '//'} starts a comment, even in a value without quotes`;
    refuse('syntax', at + length, message, 'write the value in double quotes');
    push('word', at + length);
    return true;
  };
  const takeBadArrow = (): boolean => {
    const length = inList || tokens.at(-1)?.kind === '=' ? 0 : match(badArrow);
    if (length === 0) return false;
    const arrow = text.slice(at, at + length);
    const fix = arrow.startsWith('<')
      ? 'edges go from left to right: write b -> a instead of a <- b'
      : 'write ->';
    if (arrow === '--') refuse('undirected-edge', at + 2, 'edges of a pipeline have a direction', fix);
    else refuse('syntax', at + length, `${arrow} is not an arrow`, fix);
    push('->', at + length);
    return true;
  };
  const takePort = (): boolean => {
    const last = tokens.at(-1);
    const length = inList || !(isLiteral(last) || last?.kind === '}') ? 0 : match(port);
    if (length > 0) refuse('port', at + length, 'ports are not supported', 'name the node only');
    at += length;
    return length > 0;
  };
  const takeWord = (afterEquals: boolean): void => {
    const length = match(words[afterEquals ? 'value' : inList ? 'key' : 'id']);
    push('word', at + Math.max(length, 1));
  };
  const takeSign = (): boolean => {
    const sign = text.slice(at, at + match(signs));
    if (sign === '' || (sign === '+' && tokens.at(-1)?.kind !== 'string')) return false;
    if (/[[\]{}]/.test(sign)) inList = sign === '[';
    push(sign as Sign, at + sign.length); // `signs` matches nothing else
    return true;
  };

  while (!unclosed) {
    if (takeCommentedValue()) continue;
    at = skipBlank(text, at, comments);
    if (at >= text.length) break;
    const last = tokens.at(-1);
    const afterEquals = last?.kind === '=';
    if (takeCommentedValue() || takeBadArrow() || takePort() || takeSign()) continue;
    if (last?.end === at && isLiteral(last) && (last.kind === 'string' || text[at] === '"')) stuck ??= last;
    if (text.startsWith('/*', at)) {
      unclosed = true;
      refuse('unclosed-comment', at + 2, 'this comment is never closed', 'close it with */');
    } else if (text[at] === '"') takeString();
    else if (text[at] === '<') push('html', at + (afterEquals ? Math.max(match(html), 1) : 1));
    else takeWord(afterEquals);
  }
  tokens.push({ kind: 'end', start: text.length, end: text.length });
  return { tokens, comments, bad, unclosed, stuck };
}
