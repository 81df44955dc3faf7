/** Rewrites the author's text to what `@ts-graphviz/ast` reads. Every character keeps its offset, so that the places in
 *  the library's tree are places in the author's text. What the library refuses and we accept is replaced, comments and
 *  line breaks by blanks; what we refuse is reported, and left out or replaced too. */
import { type BadText, isLiteral, type Lexed, lex, type Token } from './lex.ts';
import { endOfString, type Range } from './scan.ts';

export type Rewritten = {
  /** As long as the author's text. */
  readonly strict: string;
  readonly tokens: readonly Token[];
  readonly comments: readonly Range[];
  /** The place of the graph's name, else of the word digraph; undefined when there is no graph. */
  readonly header: (Range & { readonly isName: boolean }) | undefined;
  /** Parts of `strict` that hold whole statements of the graph and can be parsed one by one. */
  readonly pieces: readonly Range[];
  /** Single statements, those in subgraphs too; a subgraph's own braces belong to none. */
  readonly statements: readonly Range[];
  readonly bad: readonly BadText[];
  /** False when the text lacks something without which the rest means little. */
  readonly whole: boolean;
  readonly stuck: Range | undefined;
  /** What Graphviz does not read although we do. */
  readonly notGraphviz: readonly Range[];
};

const keywords = /^(?:graph|node|edge|digraph|subgraph|strict)$/i;
const defaults = /^(?:graph|node|edge)$/;
const graphvizWord = /^(?:[A-Za-z_\u0080-\uFFFF][\w\u0080-\uFFFF]*|-?(?:\.\d+|\d+(?:\.\d*)?))$/;
// The library takes `subgraph_x {` for a subgraph.
const libraryWord = /^(?!subgraph.)(?:[A-Za-z_]\w*|-?(?:\.\d+|\d+(?:\.\d*)?))$/i;
// No name of an attribute begins so: `(x=1)` behind an edge would set an attribute of the graph.
const noName = /^[!$%&()*+:<>?@^`|~]/;

// These look like blanks, or like nothing at all, but separate no tokens.
const invisible = /[\u00A0\u00AD\u0085\u1680\u2000-\u200B\u2028\u2029\u202F\u205F\u2060\u3000\uFEFF]/;

// A call of the parser costs what a few statements do; a large text in one call takes much memory.
const pieceLength = 4000;

/** Whether Graphviz reads `word` without quotes as a name or a value. */
export const isGraphvizWord = (word: string): boolean => graphvizWord.test(word) && !keywords.test(word);

/** A subgraph where only a group of nodes may be. */
export const subgraphEnd = ({ start, end }: Range): BadText => ({
  code: 'subgraph-end',
  start,
  end,
  message: 'a subgraph with statements cannot be the end of an edge; braces hold ids of nodes there: { a b }',
  fix: 'name the nodes here, and declare the rest outside of the edge',
});

/** Never throws. */
export function rewrite(text: string): Rewritten {
  return new Rewriter(text).read();
}

type Statement = { start: number; end: number };
type Brace = {
  readonly open: Token;
  /** The edge at whose end it is, as far as that is known at the brace. */
  readonly edge: Statement | undefined;
  /** How many statements there were before it. */
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
    // Where there is no graph, nothing else that is wrong with the text matters.
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

  private said({ start, end }: Range): string {
    return this.text.slice(start, end);
  }

  /** A bare word in small letters; empty for other tokens. */
  private word(token: Token): string {
    return token.kind === 'word' ? this.said(token).toLowerCase() : '';
  }

  private refuse(code: string, { start, end }: Range, message: string, fix: string): void {
    this.bad.push({ code, start, end, message, fix });
  }

  /** Writes a token at its own offset, in its own length. */
  private put({ start, end }: Range, form: string): void {
    this.parts.push(' '.repeat(start - this.written), form.slice(0, end - start).padEnd(end - start));
    this.written = end;
  }

  /** Takes the next token into the statement under way, or begins one with it. */
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

  /** Leaves the next token out, which Graphviz would refuse. */
  private leaveOut(): void {
    this.notGraphviz.push(this.peek());
    this.index++;
  }

  private literal(token: Token): string {
    const said = this.said(token);
    if (token.kind === 'string')
      return endOfString(this.text, token.start) === token.end
        ? said.replace(/[\n\r\u2028\u2029]/g, ' ')
        : `"${' '.repeat(said.length - 2)}"`;
    const fix = 'write the value in double quotes';
    if (token.kind === 'html') this.refuse('html-value', token, 'HTML values are not supported', fix);
    else if (/^['“”„‟«»‘’‚‛]/.test(said))
      this.refuse('quotes', token, 'only double quotes (") make a string', fix);
    else if (invisible.test(said))
      this.refuse(
        'invisible',
        token,
        `there is an invisible character in "${said}"`,
        'remove it, or write a plain blank',
      );
    if (!isGraphvizWord(said)) this.notGraphviz.push(token);
    return libraryWord.test(said) ? said : 'x'.repeat(said.length);
  }

  /** Reads up to the graph's opening brace, which is then in `braces`. */
  private header(): Rewritten['header'] {
    const write = 'write digraph name { … }';
    if (this.word(this.peek()) === 'strict') {
      this.refuse('strict-graph', this.peek(), 'strict graphs are not supported', 'remove the word strict');
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
      // A bare name may hold what an id may not.
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
          this.refuse('unclosed-brace', brace.open, 'this brace is never closed', 'close it with }');
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
      this.refuse('several-graphs', after, 'a file holds one graph', 'put this one into another file');
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
    // What the braces hold belongs to the edge.
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
      const message = `"${this.said(token)}" is a word of the language and cannot be a node id`;
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
      this.refuse('syntax', token, 'this edge comes from nothing', 'name the node it leaves');
    const key = this.lexed.tokens[this.index - 1];
    if (token.kind === '=' && key?.kind === 'word' && noName.test(this.said(key)))
      this.refuse(
        'syntax',
        key,
        `"${this.said(key)}" is no attribute name`,
        'attributes of a node or an edge stand in [ ]',
      );
    this.take();
  }

  private semicolon(): void {
    if (this.statement !== undefined) this.take();
    else if (this.previous(';', '{')) this.leaveOut();
    else this.index++;
    this.statement = undefined;
  }

  /** Takes the lists behind an operand as one; false when one is never closed, which ends the reading. */
  private list(): boolean {
    const open = this.peek();
    if (this.statement === undefined)
      this.refuse(
        'stray-list',
        open,
        'this attribute list belongs to nothing',
        'put it after a node, an edge, or the word graph, node or edge; for all nodes of a subgraph write node [ … ] in it',
      );
    this.take();
    while (this.peek().kind !== ']' || this.peek(1).kind === '[') {
      const token = this.peek();
      if (token.kind === ']') this.index += 2;
      else if (isLiteral(token)) this.take(this.literal(token));
      else if (token.kind === ',' || token.kind === ';') {
        // One behind a value, or where a value is missing, is the library's to judge.
        if (this.previous('word', 'string', 'html', '=')) this.take(',');
        else this.leaveOut();
      } else if (/^(?:[{}[]|end)$/.test(token.kind)) {
        this.whole = false;
        this.statements.pop();
        if (token.kind !== 'end' || !this.lexed.unclosed)
          this.refuse('unclosed-list', open, 'this attribute list is never closed', 'close it with ]');
        return false;
      } else this.take();
    }
    this.take();
    this.statement = undefined;
    return true;
  }
}
