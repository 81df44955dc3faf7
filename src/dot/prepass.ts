/** Rewrites the author's text to strict DOT for `@ts-graphviz/ast`. Every character keeps its offset, so that places in
 *  the library's tree are places in the author's text. Accepted syntax that the library does not know is replaced,
 *  comments and line breaks by blanks. Refused syntax is reported, and removed or replaced too. */
import { closingBrace, closingBracket, inDoubleQuotes } from './closing-edits.ts';
import {
  type BadText,
  endOfString,
  isLiteral,
  type Lexed,
  lex,
  type Range,
  type RangeEdit,
  type Token,
} from './lex.ts';

export type Rewritten = {
  /** The strict text, of the same length as the author's. */
  readonly strict: string;
  readonly tokens: readonly Token[];
  readonly comments: readonly Range[];
  /** The place of the graph's name, else of the word digraph; undefined without a graph. */
  readonly header: (Range & { readonly isName: boolean }) | undefined;
  /** Parts of `strict` with whole statements of the graph, which can be parsed one by one. */
  readonly pieces: readonly Range[];
  /** Single statements, also those in subgraphs, without the braces of subgraphs. */
  readonly statements: readonly Range[];
  readonly bad: readonly BadText[];
  /** False if something is missing without which the rest cannot be read. */
  readonly whole: boolean;
  readonly stuck: Range | undefined;
  /** Syntax that is accepted here but not by Graphviz. */
  readonly notGraphviz: readonly Range[];
};

const keywords = /^(?:graph|node|edge|digraph|subgraph|strict)$/i;
const defaults = /^(?:graph|node|edge)$/;
const graphvizWord = /^(?:[A-Za-z_\u0080-\uFFFF][\w\u0080-\uFFFF]*|-?(?:\.\d+|\d+(?:\.\d*)?))$/;
// The library reads `subgraph_x {` as a subgraph.
const libraryWord = /^(?!subgraph.)(?:[A-Za-z_]\w*|-?(?:\.\d+|\d+(?:\.\d*)?))$/i;
// Attribute names do not begin with these: `(x=1)` after an edge would set a graph attribute.
const noName = /^[!$%&()*+:<>?@^`|~]/;

// Invisible characters that look like blanks but do not separate tokens.
const invisible = /[\u00A0\u00AD\u0085\u1680\u2000-\u200B\u2028\u2029\u202F\u205F\u2060\u3000\uFEFF]/;

// One parser call per statement would be slow; one call for a large text needs much memory.
const pieceLength = 4000;

/** Whether Graphviz accepts `word` without quotes as a name or a value. */
export const isGraphvizWord = (word: string): boolean => graphvizWord.test(word) && !keywords.test(word);

/** A subgraph where only a group of nodes is allowed. */
export const subgraphEnd = ({ start, end }: Range): BadText => ({
  code: 'subgraph-end',
  start,
  end,
  message: 'a subgraph with statements cannot be the end of an edge; use node ids in the braces: { a b }',
  fix: 'name the nodes here, and put the rest outside of the edge',
});

/** Never throws. */
export function rewrite(text: string): Rewritten {
  return new Rewriter(text).read();
}

type Statement = { start: number; end: number };
type Brace = {
  readonly open: Token;
  /** The edge that ends in it, if known at the opening brace. */
  readonly edge: Statement | undefined;
  /** The number of statements before it. */
  readonly before: number;
};

class Rewriter {
  private readonly lexed: Lexed;
  private readonly bad: BadText[];
  private readonly parts: string[] = [];
  private written = 0;
  private readonly pieces: number[] = [];
  private readonly statements: Statement[] = [];
  private readonly notGraphviz: Range[] = [];
  private readonly braces: Brace[] = [];
  private whole: boolean;
  private index = 0;
  private statement: Statement | undefined;

  constructor(private readonly text: string) {
    this.lexed = lex(text);
    this.bad = [...this.lexed.bad];
    this.whole = !this.lexed.unclosed;
  }

  read(): Rewritten {
    const { text, statements, notGraphviz } = this;
    const { tokens, comments, stuck } = this.lexed;
    const header = this.header();
    if (this.braces.length > 0) this.body();
    for (const { start } of comments)
      if (text[start] === '#' && /[^\n\r]/.test(text[start - 1] ?? '\n'))
        notGraphviz.push({ start, end: start + 1 });
    notGraphviz.sort((a, b) => a.start - b.start);
    const strict = this.parts.join('');
    const pieces = this.pieces.map((start, i) => ({ start, end: this.pieces[i + 1] ?? strict.length }));
    // Without a graph, other problems of the text do not matter.
    const bad = header === undefined ? this.bad.slice(-1) : this.bad;
    return {
      strict,
      tokens,
      comments,
      header,
      pieces,
      statements,
      bad,
      whole: this.whole,
      stuck,
      notGraphviz,
    };
  }

  private peek(ahead = 0): Token {
    const { length } = this.text;
    return this.lexed.tokens[this.index + ahead] ?? { kind: 'end', start: length, end: length };
  }

  /** Whether the token before the next one is one of `kinds`. */
  private previous(...kinds: readonly Token['kind'][]): boolean {
    return kinds.includes(this.lexed.tokens[this.index - 1]?.kind ?? 'end');
  }

  private textOf({ start, end }: Range): string {
    return this.text.slice(start, end);
  }

  /** A bare word in lower case; empty for other tokens. */
  private word(token: Token): string {
    return token.kind === 'word' ? this.textOf(token).toLowerCase() : '';
  }

  private refuse(
    code: string,
    { start, end }: Range,
    message: string,
    fix: string,
    edits: readonly RangeEdit[] = [],
  ): void {
    this.bad.push({ code, start, end, message, fix, ...(edits.length === 0 ? {} : { edits }) });
  }

  /** Writes a token at its offset, in its length. */
  private put({ start, end }: Range, form: string): void {
    this.parts.push(' '.repeat(start - this.written), form.slice(0, end - start).padEnd(end - start));
    this.written = end;
  }

  /** Adds the next token to the current statement, or begins one with it. */
  private take(form: string = this.peek().kind): void {
    const token = this.peek();
    this.put(token, form);
    this.index++;
    if (this.statement === undefined) {
      this.beginPiece(token.start);
      this.statement = { start: token.start, end: token.end };
      this.statements.push(this.statement);
    }
    this.statement.end = token.end;
  }

  private beginPiece(start: number): void {
    if (this.braces.length === 1 && start - (this.pieces.at(-1) ?? -pieceLength) >= pieceLength)
      this.pieces.push(start);
  }

  /** Drops the next token, which Graphviz would refuse. */
  private leaveOut(): void {
    this.notGraphviz.push(this.peek());
    this.index++;
  }

  private literal(token: Token): string {
    const word = this.textOf(token);
    if (token.kind === 'string')
      return endOfString(this.text, token.start) === token.end
        ? word.replace(/[\n\r\u2028\u2029]/g, ' ')
        : `"${' '.repeat(word.length - 2)}"`;
    const fix = 'write the value in double quotes';
    if (token.kind === 'html') this.refuse('html-value', token, 'HTML values are not supported', fix);
    else if (/^['“”„‟«»‘’‚‛]/.test(word))
      this.refuse('quotes', token, 'strings need double quotes (")', fix, inDoubleQuotes(this.text, token));
    else if (invisible.test(word))
      this.refuse(
        'invisible',
        token,
        `there is an invisible character in "${word}"`,
        'remove it, or type a blank',
      );
    const { length } = this.bad;
    if (!isGraphvizWord(word) && this.bad[length - 1]?.start !== token.start) this.notGraphviz.push(token);
    return libraryWord.test(word) ? word : 'x'.repeat(word.length);
  }

  /** Reads up to the graph's opening brace and pushes it to `braces`. */
  private header(): Rewritten['header'] {
    const write = 'write digraph name { … }';
    if (this.word(this.peek()) === 'strict') {
      const [{ start }, { start: end }] = [this.peek(), this.peek(1)];
      const edits = [{ start, end, text: '' }];
      this.refuse(
        'strict-graph',
        this.peek(),
        'strict graphs are not supported',
        'remove the word strict',
        edits,
      );
      this.index++;
    }
    const keyword = this.peek();
    const isUndirected = this.word(keyword) === 'graph';
    if (isUndirected)
      this.refuse(
        'undirected-graph',
        keyword,
        'a pipeline is a directed graph',
        'write digraph instead of graph',
        [{ start: keyword.start, end: keyword.end, text: 'digraph' }],
      );
    else if (this.word(keyword) !== 'digraph') {
      if (keyword.kind !== 'end' || !this.lexed.unclosed)
        this.refuse('no-graph', keyword, 'a pipeline begins with the word digraph', write);
      return undefined;
    }
    this.index++;
    const name = isLiteral(this.peek()) ? this.peek() : undefined;
    if (name !== undefined) {
      this.literal(name);
      this.index++;
      // A bare graph name may contain characters that an id may not.
      while (isLiteral(this.peek())) this.leaveOut();
    }
    const { start, end } = name ?? keyword;
    const open = this.peek();
    this.whole &&= open.kind === '{';
    if (open.kind === '{') this.braces.push({ open, edge: undefined, before: 0 });
    else if (open.kind !== 'end' || !this.lexed.unclosed)
      this.refuse(
        'no-body',
        open.kind === 'end' ? { start, end } : open,
        'the graph has no body: { is missing',
        write,
      );
    this.index++;
    return { start, end, isName: name !== undefined };
  }

  /** Reads up to the end of the text. */
  private body(): void {
    for (let brace = this.braces.at(-1); brace !== undefined; brace = this.braces.at(-1)) {
      const token = this.peek();
      if (token.kind === 'end') {
        this.whole = false;
        if (!this.lexed.unclosed)
          this.refuse(
            'unclosed-brace',
            brace.open,
            'this brace is never closed',
            'close it with }',
            // A brace of a subgraph may have to be closed anywhere.
            this.braces.length === 1 ? [closingBrace(this.text)] : [],
          );
        else if (this.statement !== undefined) this.statements.pop();
        return;
      }
      if (token.kind === '}') this.close(brace);
      else if (token.kind === '{') this.open(token, this.leadsOn());
      else if (token.kind === '[') {
        if (!this.list()) return;
      } else if (token.kind === ';') this.semicolon();
      else if (isLiteral(token)) this.operand(token);
      else this.sign(token);
    }
    while (this.peek().kind === ';') this.leaveOut();
    const after = this.peek();
    if (after.kind === 'end') return;
    const isGraph = /^(?:strict|graph|digraph)$/.test(this.word(after));
    this.whole &&= isGraph;
    if (isGraph)
      this.refuse('several-graphs', after, 'a file contains one graph', 'move this one to another file');
    else
      this.refuse(
        'text-after-graph',
        after,
        'there is text after the end of the graph',
        'remove it, or the brace that closed the graph too early',
      );
  }

  private open(brace: Token, isEnd: boolean, keyword = brace): void {
    if (!isEnd) this.beginPiece(keyword.start);
    const edge = isEnd ? this.statement : undefined;
    this.braces.push({ open: keyword, edge, before: this.statements.length });
    this.statement = undefined;
    this.put(brace, '{');
    this.index++;
  }

  private close(brace: Brace): void {
    const token = this.peek();
    this.braces.pop();
    this.statement = undefined;
    this.index++;
    if (this.braces.length === 0) return;
    this.put(token, '}');
    if (brace.edge === undefined && this.peek().kind !== '->') return;
    // The contents of the braces belong to the edge.
    this.statements.length = brace.before;
    this.statement = brace.edge ?? { start: brace.open.start, end: token.end };
    this.statement.end = token.end;
    if (brace.edge === undefined) this.statements.push(this.statement);
    if (brace.open.kind !== '{') this.bad.push(subgraphEnd(brace.open));
  }

  /** Whether the next token is the end of an edge. */
  private leadsOn(): boolean {
    return this.statement !== undefined && this.previous('->');
  }

  private operand(token: Token): void {
    const next = this.peek(1).kind;
    const isEnd = this.leadsOn();
    const isValue = this.statement !== undefined && this.previous('=');
    if (!isEnd && !isValue) this.statement = undefined;
    const word = this.word(token);
    if (isValue || next === '=' || !keywords.test(word)) this.take(this.literal(token));
    else if (word === 'subgraph' && (next === '{' || this.peek(2).kind === '{')) this.subgraph(token, isEnd);
    else if (!isEnd && next === '[' && defaults.test(word)) this.take(word);
    else if (!isEnd && next !== '->' && defaults.test(word)) this.leaveOut();
    else {
      const message = `"${this.textOf(token)}" is a keyword and cannot be a node id`;
      this.refuse('keyword-id', token, message, 'choose another id, or write it in quotes');
      this.take('x'.repeat(word.length));
    }
    if (isValue) this.statement = undefined;
  }

  private subgraph(keyword: Token, isEnd: boolean): void {
    this.put(keyword, 'subgraph');
    this.index++;
    const name = this.peek();
    if (name.kind !== '{') {
      this.put(name, this.literal(name));
      this.index++;
    }
    this.open(this.peek(), isEnd, keyword);
  }

  private sign(token: Token): void {
    if (token.kind === '->' && this.statement === undefined)
      this.refuse('syntax', token, 'this edge has no source', 'name the node before the arrow');
    const key = this.lexed.tokens[this.index - 1];
    if (token.kind === '=' && key?.kind === 'word' && noName.test(this.textOf(key)))
      this.refuse(
        'syntax',
        key,
        `"${this.textOf(key)}" is not an attribute name`,
        'write attributes of a node or an edge in [ ]',
      );
    this.take();
  }

  private semicolon(): void {
    if (this.statement !== undefined) this.take();
    else if (this.previous(';', '{')) this.leaveOut();
    else this.index++;
    this.statement = undefined;
  }

  /** Joins the attribute lists after an operand; false if one is never closed, which stops the parser. */
  private list(): boolean {
    const open = this.peek();
    if (this.statement === undefined)
      this.refuse(
        'stray-list',
        open,
        'this attribute list has no node, edge or keyword before it',
        'put it after a node, an edge, or the word graph, node or edge; for all nodes of a subgraph write node [ … ] in it',
      );
    this.take();
    while (this.peek().kind !== ']' || this.peek(1).kind === '[') {
      const token = this.peek();
      if (token.kind === ']') this.index += 2;
      else if (isLiteral(token)) this.take(this.literal(token));
      else if (token.kind === ',' || token.kind === ';') {
        // The library reports a list after a value or in the place of one.
        if (this.previous('word', 'string', 'html', '=')) this.take(',');
        else this.leaveOut();
      } else if (/^(?:[{}[]|end)$/.test(token.kind)) {
        this.whole = false;
        this.statements.pop();
        if (token.kind !== 'end' || !this.lexed.unclosed)
          this.refuse(
            'unclosed-list',
            open,
            'this attribute list is never closed',
            'close it with ]',
            closingBracket(this.text, this.lexed.tokens, open),
          );
        return false;
      } else this.take();
    }
    this.take();
    this.statement = undefined;
    return true;
  }
}
