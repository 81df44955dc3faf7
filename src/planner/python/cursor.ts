/** A place in a row of tokens, and what parsers ask of it. */
import { PythonSyntaxError } from './syntax-error.ts';
import type { Token, TokenKind } from './tokens.ts';

/** How deeply expressions and statements may nest before the program is refused. */
const maxDepth = 402;

const end: Token = { kind: 'end', text: '', start: 0 };

export class Cursor {
  private at = 0;
  private depth = 0;
  /** Modules imported so far, with the depth of the importing statement in the syntax tree. */
  readonly imports: { readonly module: string; readonly level: number }[] = [];

  constructor(
    private readonly source: string,
    private readonly tokens: readonly Token[],
  ) {}

  get token(): Token {
    return this.tokens[this.at] ?? end;
  }

  next(): Token {
    const { token } = this;
    this.at++;
    return token;
  }

  peek(ahead = 1): Token {
    return this.tokens[this.at + ahead] ?? end;
  }

  /** Whether the next token is this operator or keyword. */
  is(...texts: readonly string[]): boolean {
    const { kind, text } = this.token;
    return (kind === 'op' || kind === 'keyword') && texts.includes(text);
  }

  isKind(kind: TokenKind): boolean {
    return this.token.kind === kind;
  }

  /** Takes the operator or keyword when it is next. */
  take(text: string): boolean {
    if (!this.is(text)) return false;
    this.at++;
    return true;
  }

  expect(text: string): void {
    if (!this.take(text)) throw this.fail(`"${text}" is missing`);
  }

  takeKind(kind: TokenKind): boolean {
    if (this.token.kind !== kind) return false;
    this.at++;
    return true;
  }

  name(): string {
    if (this.token.kind !== 'name') throw this.fail('a name is missing');
    return this.next().text;
  }

  /** Runs `parse`; when it fails, goes back to where it began and returns undefined. */
  attempt<T>(parse: () => T): T | undefined {
    const { at, depth } = this;
    try {
      return parse();
    } catch (error) {
      if (!(error instanceof PythonSyntaxError)) throw error;
      this.at = at;
      this.depth = depth;
      return undefined;
    }
  }

  /** Runs `parse` one level deeper. */
  within<T>(parse: () => T): T {
    if (this.depth >= maxDepth) throw this.fail('the program is nested too deeply');
    this.depth++;
    const result = parse();
    this.depth--;
    return result;
  }

  /** An error at the next token. */
  fail(why: string): PythonSyntaxError {
    const { kind, text, start } = this.token;
    const found =
      kind === 'end' || kind === 'newline'
        ? 'at the end of a line'
        : text === ''
          ? `at an ${kind}`
          : `at "${text}"`;
    return new PythonSyntaxError(`${why} ${found}`, this.source, start);
  }
}
