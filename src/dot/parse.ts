/** Statements in strict DOT to syntax trees, by `@ts-graphviz/ast`, each with the author's tokens at hand. */
import { type ASTNode, parse } from '@ts-graphviz/ast';
import type { Statement } from './dialect.ts';
import type { BadText, Token } from './lex.ts';

export type Tree = Extract<ASTNode, { type: 'Attribute' | 'AttributeList' | 'Node' | 'Edge' }>;

/** A statement's tree. `token` gives the author's token for a literal of the tree. */
export type Parsed = {
  readonly statement: Statement;
  readonly tree: Tree;
  token(literal: { readonly location?: { readonly start: { readonly offset: number } } }): Token;
};

const opening = 'digraph{';
// Trees are made a hundred statements at a time: each call of the parser costs what a few statements do.
const batch = 100;

const isTree = (node: ASTNode): node is Tree =>
  node.type === 'Attribute' || node.type === 'AttributeList' || node.type === 'Node' || node.type === 'Edge';

function trees(statements: readonly Statement[]): Tree[] {
  const text = `${opening}${statements.map((s) => s.strict).join('')}}`;
  // The limits are ours to keep: a batch is small whatever the file's size.
  const dot = parse(text, { maxASTNodes: 0, maxInputSize: 0 });
  const graph = dot.children.find((child) => child.type === 'Graph');
  const found = (graph?.children ?? []).filter(isTree);
  if (found.length !== statements.length) throw new SyntaxError('A statement reads as several');
  return found;
}

function paired(statements: readonly Statement[], found: readonly Tree[]): Parsed[] {
  const tokens = new Map<number, Token>();
  let from = opening.length;
  for (const { strict, at, tokens: own } of statements) {
    own.forEach((token, i) => {
      tokens.set(from + (at[i] ?? 0), token);
    });
    from += strict.length;
  }
  const token: Parsed['token'] = ({ location }) => {
    const it = location === undefined ? undefined : tokens.get(location.start.offset);
    if (it === undefined) throw new Error('Internal: a literal of the syntax tree has no token');
    return it;
  };
  return statements.flatMap((statement, i) => {
    const tree = found[i];
    return tree === undefined ? [] : [{ statement, tree, token }];
  });
}

/** Where in its own text a statement went wrong. */
function failureOffset(error: unknown): number | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  if (typeof cause !== 'object' || cause === null || !('location' in cause)) return undefined;
  const { location } = cause as { location: { start: { offset: number } } }; // a Peggy error's place
  return location.start.offset - opening.length;
}

const shown = (token: Token): string => {
  const text = token.kind === 'word' || token.kind === 'string' ? token.text : token.kind;
  return `"${text.length > 40 ? `${text.slice(0, 40)}…` : text}"`;
};
const isLiteral = (token: Token | undefined): token is Token =>
  token !== undefined && (token.kind === 'word' || token.kind === 'string' || token.kind === 'html');

function explain(statement: Statement, error: unknown): BadText {
  const { tokens, at } = statement;
  const offset = failureOffset(error) ?? 0;
  let i = at.findIndex((start) => start >= offset);
  if (i === -1) i = tokens.length;
  const token = tokens[i];
  const before = tokens[i - 1];
  const place = token ?? before ?? statement.scope.open;
  const bad = (message: string, fix: string, where: Token = place): BadText => ({
    code: 'syntax',
    message,
    start: where.start,
    end: where.end,
    fix,
  });
  if (!(error instanceof SyntaxError))
    return bad(
      'this statement is too large to be read',
      'split it into several statements',
      tokens[0] ?? place,
    );
  const inList = tokens.slice(0, i).some((t) => t.kind === '[');
  if (before?.kind === '=')
    return bad(`a value is missing after ${shown(tokens[i - 2] ?? before)} =`, 'write a value', before);
  if (before?.kind === '->') return bad('this edge leads to nothing', 'name the node it leads to', before);
  if (inList && isLiteral(before)) {
    const earlier = tokens[i - 2];
    if (isLiteral(earlier) && tokens[i - 3]?.kind === '=')
      return bad('a value with blanks must be in quotes', 'write the whole value in double quotes', earlier);
    return bad(`the attribute ${shown(before)} has no value`, `write ${before.text}=…`, before);
  }
  if (token?.kind === '->') return bad('this edge comes from nothing', 'name the node it leaves');
  return bad(
    `${shown(place)} cannot stand here`,
    'see whether a quote, a bracket or an = is missing before it',
  );
}

/** The trees of statements, made a batch at a time as they are asked for: those of a large file, all at once, would take
 *  many times its size. */
export type Trees = {
  /** Of a statement; undefined when it does not read. To be asked for in order. */
  get(statement: Statement): Parsed | undefined;
  /** Every statement that does not read, each told at its own place. Reads those that nobody has asked for. */
  bad(): readonly BadText[];
};

export function treesOf(statements: readonly Statement[]): Trees {
  const bad: BadText[] = [];
  const read = (some: readonly Statement[]): readonly Parsed[] => {
    try {
      return paired(some, trees(some));
    } catch (error) {
      const [first] = some;
      if (first === undefined) return [];
      if (some.length > 1) return some.flatMap((one) => read([one]));
      bad.push(explain(first, error));
      return [];
    }
  };
  let next = 0;
  let now: ReadonlySet<Statement> = new Set();
  let parsed: ReadonlyMap<Statement, Parsed> = new Map();
  const readNext = () => {
    const some = statements.slice(next, next + batch);
    next += batch;
    now = new Set(some);
    parsed = new Map(read(some).map((one) => [one.statement, one]));
  };
  return {
    get(statement) {
      while (!now.has(statement) && next < statements.length) readNext();
      return parsed.get(statement);
    },
    bad() {
      while (next < statements.length) readNext();
      return bad;
    },
  };
}
