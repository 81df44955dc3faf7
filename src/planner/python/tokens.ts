/** Python source as tokens, indentation included. */
import { readLiteral } from './strings.ts';
import { PythonSyntaxError } from './syntax-error.ts';

export type TokenKind =
  | 'name'
  | 'keyword'
  | 'number'
  | 'string'
  | 'op'
  | 'newline'
  | 'indent'
  | 'dedent'
  | 'end';

export type Token = {
  readonly kind: TokenKind;
  /** As written; empty for tokens of layout. */
  readonly text: string;
  readonly start: number;
  /** Strings only. */
  readonly bytes?: boolean;
  readonly fields?: readonly string[];
};

const keywords = new Set(
  `False None True and as assert async await break class continue def del elif else except finally for from global if
  import in is lambda nonlocal not or pass raise return try while with yield`.split(/\s+/),
);

const word = /[\p{ID_Start}_][\p{ID_Continue}]*/uy;
const digits = '[0-9](?:_?[0-9])*';
const exponent = `[eE][+-]?${digits}`;
const number = new RegExp(
  `0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+` +
    `|(?:(?:${digits})?\\.${digits}|${digits}\\.)(?:${exponent})?[jJ]?|${digits}(?:${exponent}[jJ]?|[jJ])` +
    `|0(?:_?0)*(?![0-9_])|[1-9](?:_?[0-9])*`,
  'y',
);
const operator =
  /\*\*=|\/\/=|>>=|<<=|\.\.\.|->|:=|[-+*/%&|^@=!<>]=|\*\*|\/\/|<<|>>|[-+*/%&|^@=<>~.,:;()[\]{}]/y;
/** Words that may stand directly after a number. */
const afterNumber = /(?:and|else|for|if|in|is|not|or)(?![\p{ID_Continue}])/uy;
const closing: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

const maxBrackets = 200;
const maxIndents = 100;

type Indent = { readonly column: number; readonly tabsAsOne: number };

/** All tokens of a program, the last of kind `end`. With `enclosed` line ends and indentation do not count, as
 *  inside brackets. Throws a `PythonSyntaxError`. */
export function tokenize(source: string, enclosed = false): Token[] {
  const tokens: Token[] = [];
  const indents: Indent[] = [{ column: 0, tabsAsOne: 0 }];
  const brackets: string[] = [];
  const fail = (why: string, at: number) => new PythonSyntaxError(why, source, at);
  const push = (kind: TokenKind, text: string, start: number) => tokens.push({ kind, text, start });
  let at = 0;
  let lineBegins = !enclosed;

  while (at < source.length) {
    if (lineBegins) {
      lineBegins = false;
      const line = readIndent(source, at);
      at = line.end;
      if (!line.blank) indent(line, at);
    }
    const char = source.charAt(at);
    if (char === '') break;
    if (char === ' ' || char === '\t' || char === '\f') at++;
    else if (char === '#') at = lineEnd(source, at);
    else if (char === '\n') {
      if (brackets.length === 0 && !enclosed) {
        if (tokens.length > 0 && !isLayout(tokens.at(-1))) push('newline', '', at);
        lineBegins = true;
      }
      at++;
    } else if (char === '\\') {
      if (source.charAt(at + 1) !== '\n')
        throw fail('something follows a backslash at the end of a line', at);
      if (at + 2 >= source.length) throw fail('the program ends after a backslash', at);
      at += 2;
    } else at = readToken(char);
  }
  if (brackets.length > 0) throw fail(`a "${brackets.at(-1)}" is never closed`, source.length);
  if (!enclosed && tokens.length > 0 && !isLayout(tokens.at(-1))) push('newline', '', at);
  for (let i = indents.length; i > 1; i--) push('dedent', '', at);
  push('end', '', at);
  return tokens;

  function indent(line: Indent, position: number): void {
    const top = indents.at(-1) ?? { column: 0, tabsAsOne: 0 };
    if (line.column > top.column) {
      if (line.tabsAsOne <= top.tabsAsOne)
        throw fail('tabs and spaces are mixed in the indentation', position);
      if (indents.length >= maxIndents) throw fail('the indentation is too deep', position);
      indents.push(line);
      push('indent', '', position);
      return;
    }
    while ((indents.at(-1)?.column ?? 0) > line.column) {
      indents.pop();
      push('dedent', '', position);
    }
    const now = indents.at(-1);
    if (now?.column !== line.column)
      throw fail('a line is indented less, but as no line before it', position);
    if (now.tabsAsOne !== line.tabsAsOne)
      throw fail('tabs and spaces are mixed in the indentation', position);
  }

  function readToken(char: string): number {
    const literal = readLiteral(source, at);
    if (literal !== undefined) {
      const { end, bytes, fields } = literal;
      tokens.push({ kind: 'string', text: source.slice(at, end), start: at, bytes, fields });
      return end;
    }
    const name = match(word, source, at);
    if (name !== undefined) {
      push(keywords.has(name) ? 'keyword' : 'name', name, at);
      return at + name.length;
    }
    const literalNumber = match(number, source, at);
    if (literalNumber !== undefined) {
      const end = at + literalNumber.length;
      const glued = match(word, source, end) !== undefined || /[0-9_]/.test(source.charAt(end));
      if (glued && match(afterNumber, source, end) === undefined)
        throw fail('a number is not well formed', at);
      push('number', literalNumber, at);
      return end;
    }
    const op = match(operator, source, at);
    if (op === undefined) throw fail(`the character ${JSON.stringify(char)} does not belong here`, at);
    const close = closing[op];
    if (close !== undefined) {
      if (brackets.length >= maxBrackets) throw fail('brackets are nested too deeply', at);
      brackets.push(op);
    } else if (op === ')' || op === ']' || op === '}') {
      const open = brackets.pop();
      if (open === undefined || closing[open] !== op) throw fail(`a "${op}" closes nothing`, at);
    }
    push('op', op, at);
    return at + op.length;
  }
}

const isLayout = (token: Token | undefined): boolean =>
  token === undefined || token.kind === 'newline' || token.kind === 'indent' || token.kind === 'dedent';

function match(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}

function lineEnd(source: string, at: number): number {
  const end = source.indexOf('\n', at);
  return end < 0 ? source.length : end;
}

/** The indentation of the line at `at`: with tabs to the next multiple of eight, and with tabs as one column; lines
 *  must agree in both. A line with nothing but blanks or a comment is `blank`. */
function readIndent(source: string, at: number): Indent & { end: number; blank: boolean } {
  let column = 0;
  let tabsAsOne = 0;
  let end = at;
  for (; ; end++) {
    const char = source.charAt(end);
    if (char === ' ') {
      column++;
      tabsAsOne++;
    } else if (char === '\t') {
      column = (Math.floor(column / 8) + 1) * 8;
      tabsAsOne++;
    } else if (char === '\f') column = tabsAsOne = 0;
    else return { column, tabsAsOne, end, blank: char === '' || char === '#' || char === '\n' };
  }
}
