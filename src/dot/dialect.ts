/** Rewrites our dialect, statement by statement, to strict DOT that `@ts-graphviz/ast` reads; each rewritten token
 *  remembers the author's, so that every finding points at the author's own line and column.
 *
 *  Subgraphs are taken out here: what they hold becomes statements of a scope of their own. So nesting has no limit,
 *  and a subgraph may stand at either end of an edge. */
import { type BadText, lex, type Token, type Turned } from './lex.ts';

/** One pair of braces: the graph's own (no parent) or a subgraph's. */
export type Scope = { readonly parent: Scope | undefined; readonly open: Token };

/** A statement in strict DOT. `at[i]` is the offset in `strict` of the text that stands for `tokens[i]`. An edge's end
 *  that is a subgraph is the token of that subgraph's `{`. */
export type Statement = {
  readonly kind: 'statement';
  readonly scope: Scope;
  readonly strict: string;
  readonly at: readonly number[];
  readonly tokens: readonly Token[];
};

export type Item = Statement | { readonly kind: 'open'; readonly scope: Scope };

export type Outline = {
  /** The graph's name or its keyword; undefined when there is no graph. */
  readonly header: { readonly name: string; readonly token: Token } | undefined;
  readonly items: readonly Item[];
  readonly bad: readonly BadText[];
  /** False when something was left out that a graph would need to be complete. */
  readonly whole: boolean;
  /** Where quotes seem to be turned inside out. */
  readonly turned: Turned | undefined;
};

const keywords: ReadonlySet<string> = new Set(['graph', 'node', 'edge', 'digraph', 'subgraph', 'strict']);
const isKeyword = (token: Token, ...words: readonly string[]): boolean =>
  token.kind === 'word' && words.includes(token.text.toLowerCase());
const isLiteral = (token: Token): boolean =>
  token.kind === 'word' || token.kind === 'string' || token.kind === 'html';

/** What no name of an attribute begins with: `(x=1)` behind an edge would else set something of the graph. */
const noName = /^[!$%&()*+:<>?@^`|~]/;

// A chain is read piece by piece: the parser's own depth grows with it.
const chainPiece = 200;

// Every literal stands as one letter: what it says is read from the author's own token, and the parser, which looks at
// each character several times, has the less to look at.
const standIn = 'x';

class Writer {
  strict = '';
  readonly at: number[] = [];
  readonly tokens: Token[] = [];
  put(token: Token, text = token.kind as string): void {
    this.at.push(this.strict.length);
    this.tokens.push(token);
    this.strict += `${text} `;
  }
  statement(scope: Scope): Statement {
    return { kind: 'statement', scope, strict: `${this.strict};`, at: this.at, tokens: this.tokens };
  }
}

type List = { readonly open: Token; readonly inner: readonly Token[]; readonly close: Token };
type Frame = { readonly scope: Scope; pending: Token[]; lists: List[] };

const quote = (text: string): string => `"${text.length > 40 ? `${text.slice(0, 40)}…` : text}"`;

/** Never throws; what is refused is in `bad`, and the rest is still read. */
export function outline(text: string): Outline {
  const { tokens, bad: badTokens, cut, turned } = lex(text);
  const large = badTokens.find(({ code }) => code === 'too-large');
  if (large !== undefined) return { header: undefined, items: [], bad: [large], whole: false, turned };
  const bad: BadText[] = [...badTokens];
  const items: Item[] = [];
  /** Braces of subgraphs behind a list that is never closed. */
  const headless = new Set<Token>();
  let whole = !cut;
  let index = 0;

  const end = tokens[tokens.length - 1] ?? { kind: 'end', text: '', start: 0, end: 0 };
  const peek = (ahead = 0): Token => tokens[index + ahead] ?? end;
  const refuse = (code: string, at: Token, message: string, fix: string) =>
    void bad.push({ code, message, start: at.start, end: Math.max(at.end, at.start), fix });

  const checkLiteral = (token: Token) => {
    if (token.kind === 'html')
      refuse('html-value', token, 'HTML values are not supported', 'write the value in double quotes');
    if (token.kind === 'word' && /^[“”„‟«»‘’‚‛]/.test(token.text))
      refuse(
        'curly-quotes',
        token,
        'only straight quotes make a string',
        'write the value in double quotes: "…"',
      );
    if (token.kind === 'word' && token.text.startsWith("'"))
      refuse(
        'single-quotes',
        token,
        'single quotes do not make a string',
        'write the value in double quotes',
      );
  };

  const takeList = (): List => {
    const open = peek();
    index++;
    const inner: Token[] = [];
    for (;;) {
      const token = peek();
      if (token.kind === ']') {
        index++;
        return { open, inner, close: token };
      }
      if (token.kind === 'end' || token.kind === '{' || token.kind === '}' || token.kind === '[') {
        if (!(cut && token.kind === 'end'))
          refuse('unclosed-list', open, 'this attribute list is never closed', 'close it with ]');
        whole = false;
        return { open, inner, close: token };
      }
      inner.push(token);
      index++;
    }
  };

  /** All lists of a statement as one. Separators may be missing, doubled, or first and last. */
  const writeLists = (writer: Writer, lists: readonly List[]) => {
    const first = lists[0];
    if (first === undefined) return;
    writer.put(first.open);
    let wroteLiteral = false;
    for (const { inner, close } of lists) {
      for (const token of inner) {
        if (token.kind === ',' || token.kind === ';') {
          if (wroteLiteral || writer.tokens.at(-1)?.kind === '=') writer.put(token, ',');
          wroteLiteral = false;
        } else {
          writer.put(token, isLiteral(token) ? standIn : token.kind);
          wroteLiteral = isLiteral(token);
        }
      }
      if (wroteLiteral && close !== lists.at(-1)?.close) writer.put(close, ',');
      wroteLiteral = false;
    }
    writer.put(lists.at(-1)?.close ?? first.close, ']');
  };

  const finish = (frame: Frame) => {
    const { pending, lists, scope } = frame;
    frame.pending = [];
    frame.lists = [];
    const first = pending[0];
    if (first === undefined) {
      const list = lists[0];
      if (list !== undefined) {
        whole = false;
        refuse(
          'stray-list',
          list.open,
          'this attribute list belongs to nothing',
          'put it after a node, an edge, or the word graph, node or edge',
        );
      }
      return;
    }
    for (const token of pending) if (isLiteral(token)) checkLiteral(token);
    for (const { inner } of lists) for (const token of inner) if (isLiteral(token)) checkLiteral(token);
    // What a list that is never closed has swallowed is no attribute, and what stands behind it lacks its beginning.
    const swallowing = lists.find(({ close }) => close.kind !== ']' && close.kind !== 'end');
    if (swallowing !== undefined) {
      if (swallowing.close.kind === '{') headless.add(swallowing.close);
      return;
    }
    if (pending.length === 1 && first.kind === '{') {
      const list = lists[0];
      if (list !== undefined && !headless.has(first))
        refuse(
          'stray-list',
          list.open,
          'a subgraph takes no attribute list',
          'write what its nodes share as node [ … ] inside its braces',
        );
      return;
    }
    if (pending.length === 1 && isKeyword(first, 'graph', 'node', 'edge') && lists.length === 0) return;
    const isDefault = isKeyword(first, 'graph', 'node', 'edge') && pending.length === 1;
    if (!isDefault && pending[1]?.kind !== '=') {
      for (const token of pending) {
        if (token.kind !== 'word' || !keywords.has(token.text.toLowerCase())) continue;
        const message = `"${token.text}" is a word of the language and cannot be a node id`;
        refuse('keyword-id', token, message, 'choose another id, or write it in quotes');
      }
    }
    const operand = (writer: Writer, token: Token) => {
      if (token === first && isDefault) writer.put(token, token.text.toLowerCase());
      else if (token.kind === '{') writer.put(token, standIn);
      else writer.put(token, isLiteral(token) ? standIn : token.kind);
    };
    let from = 0;
    while (pending.length - from > chainPiece && pending[from + chainPiece - 1]?.kind === '->') {
      const piece = pending.slice(from, from + chainPiece + 1);
      const writer = new Writer();
      for (const token of piece) operand(writer, token);
      writeLists(writer, lists);
      items.push(writer.statement(scope));
      from += chainPiece;
    }
    if (from > 0 && pending.length - from === 1) return;
    const writer = new Writer();
    for (const token of from === 0 ? pending : pending.slice(from)) operand(writer, token);
    writeLists(writer, lists);
    items.push(writer.statement(scope));
  };

  const takePort = () => {
    const colon = peek();
    index++;
    let last = colon;
    for (let more = true; more; ) {
      if (isLiteral(peek())) {
        last = peek();
        index++;
      }
      more = peek().kind === ':';
      if (more) index++;
    }
    bad.push({
      code: 'port',
      message: 'ports are not supported',
      start: colon.start,
      end: last.end,
      fix: 'name the node only',
    });
  };

  const body = (root: Scope) => {
    const frames: Frame[] = [{ scope: root, pending: [], lists: [] }];
    for (;;) {
      const frame = frames[frames.length - 1];
      if (frame === undefined) return;
      const token = peek();
      const last = frame.pending.at(-1);
      const afterOperand = last !== undefined && (isLiteral(last) || last.kind === '{');
      if (frame.lists.length > 0 && token.kind !== '[') {
        finish(frame);
        continue;
      }
      if (token.kind === 'end') {
        finish(frame);
        whole = false;
        // A list that is never closed may have taken the brace with it.
        if (!cut && !bad.some(({ code }) => code === 'unclosed-list'))
          refuse('unclosed-brace', frame.scope.open, 'this brace is never closed', 'close it with }');
        return;
      }
      if (token.kind === '}') {
        finish(frame);
        index++;
        frames.pop();
        frames.at(-1)?.pending.push(frame.scope.open);
        continue;
      }
      if (token.kind === '{' || isKeyword(token, 'subgraph')) {
        if (afterOperand) finish(frame);
        let open = token;
        if (token.kind !== '{') {
          index++;
          if (isLiteral(peek())) index++;
          open = peek();
        }
        if (open.kind !== '{') {
          whole = false;
          refuse('subgraph-body', token, 'a subgraph needs a body in braces', 'write subgraph name { … }');
          continue;
        }
        index++;
        const scope: Scope = { parent: frame.scope, open };
        items.push({ kind: 'open', scope });
        frames.push({ scope, pending: [], lists: [] });
        continue;
      }
      if (token.kind === '[') {
        frame.lists.push(takeList());
        continue;
      }
      if (token.kind === ';') {
        finish(frame);
        index++;
        continue;
      }
      if (token.kind === ':' && afterOperand) {
        takePort();
        continue;
      }
      if (token.kind === '--') {
        refuse('undirected-edge', token, 'edges of a pipeline have a direction', 'write -> instead of --');
        frame.pending.push({ ...token, kind: '->' });
        index++;
        continue;
      }
      if (token.kind === '=' && text[token.end] === '>') {
        whole = false;
        refuse('syntax', { ...token, end: token.end + 1 }, '=> is no arrow', 'write ->');
      }
      const [key] = frame.pending;
      if (token.kind === '=' && key?.kind === 'word' && noName.test(key.text))
        refuse(
          'syntax',
          key,
          `${quote(key.text)} is no attribute name`,
          'attributes of a node or an edge stand in [ ]',
        );
      if (token.kind === '=' && frame.pending.length === 1 && isLiteral(peek(1))) {
        frame.pending.push(token, peek(1));
        index += 2;
        finish(frame);
        continue;
      }
      if (isLiteral(token) && afterOperand) finish(frame);
      frame.pending.push(token);
      index++;
    }
  };

  const isHeader = (token: Token) => isKeyword(token, 'strict', 'graph', 'digraph');
  const begin = peek();
  if (begin.kind === 'end') {
    if (!cut)
      refuse(
        'no-graph',
        begin,
        text.trim() === '' ? 'the file is empty' : 'there is no graph in this file',
        'write digraph name { … }',
      );
    return { header: undefined, items, bad, whole: false, turned };
  }
  if (!isHeader(begin)) {
    refuse(
      'no-graph',
      begin,
      `a pipeline begins with the word digraph, not with ${quote(begin.text)}`,
      'write digraph name { … }',
    );
    return { header: undefined, items, bad, whole: false, turned };
  }
  if (isKeyword(begin, 'strict')) {
    refuse('strict-graph', begin, 'strict graphs are not supported', 'remove the word strict');
    index++;
  }
  const keyword = peek();
  if (isKeyword(keyword, 'graph'))
    refuse('undirected-graph', keyword, 'a pipeline is a directed graph', 'write digraph instead of graph');
  if (isKeyword(keyword, 'graph', 'digraph')) index++;
  else refuse('no-graph', keyword, 'the word digraph is missing', 'write digraph name { … }');
  const named = isLiteral(peek()) ? peek() : undefined;
  if (named !== undefined) {
    index++;
    checkLiteral(named);
    // A bare name may hold what an id may not; only the brace must follow.
    while (isLiteral(peek()) || peek().kind === ':') index++;
  }
  const header = { name: named?.text ?? '', token: named ?? keyword };
  const brace = peek();
  if (brace.kind !== '{') {
    if (!cut || brace.kind !== 'end') {
      const at = brace.kind === 'end' ? header.token : brace;
      refuse('no-body', at, 'the graph has no body: { is missing', 'write digraph name { … }');
    }
    return { header, items, bad, whole: false, turned };
  }
  index++;
  body({ parent: undefined, open: brace });
  while (peek().kind === ';') index++;
  const after = peek();
  if (after.kind !== 'end') {
    if (isHeader(after))
      refuse(
        'several-graphs',
        after,
        'a file holds one graph; this is another one',
        'put it into a file of its own',
      );
    else {
      whole = false;
      refuse(
        'text-after-graph',
        after,
        `${quote(after.text)} stands after the end of the graph`,
        'remove it, or the brace that closed the graph too early',
      );
    }
  }
  return { header, items, bad, whole, turned };
}
