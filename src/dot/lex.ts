/** Splits the author's text into tokens (words, strings, signs) and comments, each with its place. */

export type Sign = '->' | '{' | '}' | '[' | ']' | ';' | ',' | '=' | '+';
/** Strings joined by + are one token. */
export type Token = Range & { readonly kind: 'word' | 'string' | 'html' | Sign | 'end' };

/** Something in the author's text that is refused. */
export type BadText = Range & {
  readonly code: string;
  readonly message: string;
  readonly fix: string;
  /** What the author must have meant. */
  readonly edits?: readonly RangeEdit[];
};

/** Another text for a part of the author's. */
export type RangeEdit = Range & { readonly text: string };

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
const badArrow = /=>|-{2,}(?:\s*>+)?|->>+|-\s+>|<-+>?|[->](?=\s)|[\u2010-\u2015\u2212]+\s*>?|[→⇒⟶⟹➔➜]/y;
// Colours and addresses. A `#` before a blank begins a comment.
const commentedValue = /(?:#(?=\S)|[\w.+-]+:\/\/)[^\s"[\]{};,]*/y;

/** Splits a text. Never throws. */
export const lex = (text: string): Lexed => new Lexer(text).run();

class Lexer {
  readonly #text: string;
  readonly #tokens: Token[] = [];
  readonly #comments: Range[] = [];
  readonly #bad: BadText[] = [];
  #unclosed = false;
  #stuck: Range | undefined;
  #inList = false;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  run(): Lexed {
    const text = this.#text;
    const tokens = this.#tokens;
    while (!this.#unclosed) {
      if (this.#takeCommentedValue()) continue;
      this.#at = skipBlank(text, this.#at, this.#comments);
      if (this.#at >= text.length) break;
      const last = tokens.at(-1);
      const afterEquals = last?.kind === '=';
      if (this.#takeCommentedValue() || this.#takeBadArrow() || this.#takePort() || this.#takeSign())
        continue;
      const first = text[this.#at];
      if (last?.end === this.#at && isLiteral(last) && (last.kind === 'string' || first === '"'))
        this.#stuck ??= last;
      if (text.startsWith('/*', this.#at)) {
        this.#unclosed = true;
        this.#refuse('unclosed-comment', 2, 'this comment is never closed', 'close it with */');
      } else if (first === '"') this.#takeString();
      else if (first === '<')
        this.#push('html', this.#at + (afterEquals ? Math.max(this.#match(html), 1) : 1));
      else this.#takeWord(afterEquals);
    }
    tokens.push({ kind: 'end', start: text.length, end: text.length });
    return {
      ...{ tokens, comments: this.#comments, bad: this.#bad },
      ...{ unclosed: this.#unclosed, stuck: this.#stuck },
    };
  }

  #match(form: RegExp): number {
    form.lastIndex = this.#at;
    return form.exec(this.#text)?.[0].length ?? 0;
  }

  #push(kind: Token['kind'], end: number): void {
    this.#tokens.push({ kind, start: this.#at, end });
    this.#at = end;
  }

  /** `instead`: the text that the author must have meant. */
  #refuse(code: string, length: number, message: string, fix: string, instead?: string): void {
    const place = { start: this.#at, end: this.#at + length };
    const edits = instead === undefined ? {} : { edits: [{ ...place, text: instead }] };
    this.#bad.push({ code, ...place, message, fix, ...edits });
  }

  #takeString(): void {
    const end = endOfString(this.#text, this.#at);
    if (end === undefined) {
      this.#unclosed = true;
      const fix = 'close it with a double quote, or write \\" for a quote inside a string';
      this.#refuse('unclosed-string', 1, 'this string is never closed', fix);
      return;
    }
    const first = this.#tokens.at(-2);
    if (this.#tokens.at(-1)?.kind === '+' && first?.kind === 'string') {
      this.#tokens.length -= 2;
      this.#at = first.start;
    }
    this.#push('string', end);
  }

  /** A value that contains the start of a comment: `#ff0000`, `https://x.y`. */
  #takeCommentedValue(): boolean {
    const length = this.#tokens.at(-1)?.kind === '=' ? this.#match(commentedValue) : 0;
    if (length === 0) return false;
    const sign = this.#text[this.#at] === '#' ? '#' : '//';
    const message = `${sign} starts a comment, even in a value without quotes`;
    const value = this.#text.slice(this.#at, this.#at + length);
    this.#refuse('syntax', length, message, 'write the value in double quotes', `"${value}"`);
    this.#push('word', this.#at + length);
    return true;
  }

  #takeBadArrow(): boolean {
    const length = this.#inList || this.#tokens.at(-1)?.kind === '=' ? 0 : this.#match(badArrow);
    if (length === 0) return false;
    const arrow = this.#text.slice(this.#at, this.#at + length);
    const fix = arrow.startsWith('<')
      ? 'edges go from left to right: write b -> a instead of a <- b'
      : 'write ->';
    const instead = fix === 'write ->' ? `->${/\s*$/.exec(arrow)?.[0] ?? ''}` : undefined;
    if (arrow === '--')
      this.#refuse('undirected-edge', 2, 'edges of a pipeline have a direction', fix, instead);
    else this.#refuse('syntax', length, `${arrow} is not an arrow`, fix, instead);
    this.#push('->', this.#at + length);
    return true;
  }

  #takePort(): boolean {
    const last = this.#tokens.at(-1);
    const length = this.#inList || !(isLiteral(last) || last?.kind === '}') ? 0 : this.#match(port);
    if (length > 0) this.#refuse('port', length, 'ports are not supported', 'name the node only', '');
    this.#at += length;
    return length > 0;
  }

  #takeWord(afterEquals: boolean): void {
    const length = this.#match(words[afterEquals ? 'value' : this.#inList ? 'key' : 'id']);
    this.#push('word', this.#at + Math.max(length, 1));
  }

  #takeSign(): boolean {
    const sign = this.#text.slice(this.#at, this.#at + this.#match(signs));
    if (sign === '' || (sign === '+' && this.#tokens.at(-1)?.kind !== 'string')) return false;
    if (/[[\]{}]/.test(sign)) this.#inList = sign === '[';
    this.#push(sign as Sign, this.#at + sign.length); // `signs` matches nothing else
    return true;
  }
}

/** Skips from an offset of the author's text: over a string, or over blanks and comments to the next token. */
export type Range = { readonly start: number; readonly end: number };

/** The offset after the closing quote of the string that opens at `start`; undefined if it is never closed. */
export function endOfString(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === 0x22) return at + 1;
    if (c === 0x5c) at++;
  }
  return undefined;
}

// A backslash at the end of a line joins it to the next one.
const blanks = /(?:[ \t\n\r\f\v]|\\(?=[\n\r]))+/y;
const comment = /(?:#|\/\/)[^\n\r]*|\/\*/y;

const matchAt = (form: RegExp, text: string, at: number): string => {
  form.lastIndex = at;
  return form.exec(text)?.[0] ?? '';
};

/** The offset of the next token, of a comment that is never closed, or of the end of the text. Skipped comments are added
 *  to `comments`. */
export function skipBlank(text: string, from: number, comments: Range[] = []): number {
  let at = from === 0 && text.startsWith('\uFEFF') ? 1 : from;
  for (;;) {
    at += matchAt(blanks, text, at).length;
    const found = matchAt(comment, text, at);
    const close = found === '/*' ? text.indexOf('*/', at + 2) : at + found.length - 2;
    if (found === '' || close === -1) return at;
    comments.push({ start: at, end: close + 2 });
    at = close + 2;
  }
}
