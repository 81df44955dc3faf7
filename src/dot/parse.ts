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
// Trees are made up to a hundred at a time: each call of the parser costs what a few statements do.
const batch = 100;
// A tree takes some hundred times the memory of its text.
const mostKept = 100_000;

/** What all statements with the same strict text have in common. Every literal stands as the same letter there, so most
 *  statements of a large file are of a few shapes, and each of those is parsed once. */
type Shape = {
  readonly tree: Tree;
  /** Which of a statement's tokens a literal stands for, by its offset in the text that was parsed. */
  readonly tokenAt: ReadonlyMap<number, number>;
};

const isTree = (node: ASTNode): node is Tree =>
  node.type === 'Attribute' || node.type === 'AttributeList' || node.type === 'Node' || node.type === 'Edge';

/** The shapes of statements; throws the parser's error when one of them does not read. */
function shapesOf(statements: readonly Statement[]): readonly Shape[] {
  const text = `${opening}${statements.map((s) => s.strict).join('')}}`;
  // The limits are ours to keep: a batch is small whatever the file's size.
  const dot = parse(text, { maxASTNodes: 0, maxInputSize: 0 });
  const graph = dot.children.find((child) => child.type === 'Graph');
  const found = (graph?.children ?? []).filter(isTree);
  if (found.length !== statements.length) throw new SyntaxError('A statement reads as several');
  let from = opening.length;
  return statements.flatMap(({ strict, at }, i) => {
    const tree = found[i];
    const tokenAt = new Map(at.map((start, index) => [from + start, index]));
    from += strict.length;
    return tree === undefined ? [] : [{ tree, tokenAt }];
  });
}

function parsedAs({ tree, tokenAt }: Shape, statement: Statement): Parsed {
  return {
    statement,
    tree,
    token: ({ location }) => {
      const index = location === undefined ? undefined : tokenAt.get(location.start.offset);
      const token = index === undefined ? undefined : statement.tokens[index];
      if (token === undefined) throw new Error('Internal: a literal of the syntax tree has no token');
      return token;
    },
  };
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
  if (token?.kind === ',' && !inList)
    return bad(
      'a comma can part attributes in [ ] only',
      'write ; between statements, { a b } for several nodes at one end of an edge, quotes around a value with a comma',
    );
  if (inList && token?.kind === '+' && before?.kind === 'string')
    return bad('only strings in double quotes are joined by +', 'write what follows in double quotes too');
  if (inList && isLiteral(before)) {
    const earlier = tokens[i - 2];
    const named = before.kind === 'word' && before.text.endsWith(':');
    if (!named && isLiteral(earlier) && tokens[i - 3]?.kind === '=') {
      if (earlier.kind === 'string')
        return bad(
          `this string has ended, and ${shown(before)} is no attribute`,
          'write \\" for a quote inside a string',
          before,
        );
      if (before.kind === 'string' && before.start === earlier.end)
        return bad(
          `this quote opens a string behind ${shown(earlier)}`,
          `write a quote before ${earlier.text.slice(0, 40)} too, or take this one away`,
          { ...before, end: before.start + 1 },
        );
      return bad('a value with blanks must be in quotes', 'write the whole value in double quotes', earlier);
    }
    const name = named ? before.text.slice(0, -1) : before.text;
    return bad(`the attribute ${shown(before)} has no value`, `write ${name}=…`, before);
  }
  if (token?.kind === '->') return bad('this edge comes from nothing', 'name the node it leaves');
  return bad(
    `${shown(place)} cannot stand here`,
    'see whether a quote, a bracket or an = is missing before it',
  );
}

/** The trees of statements, made as they are asked for: those of a large file, all at once, would take many times its
 *  size. */
export type Trees = {
  /** Of a statement; undefined when it does not read. To be asked for in order. */
  get(statement: Statement): Parsed | undefined;
  /** Every statement that does not read, each told at its own place. Reads those that nobody has asked for. */
  bad(): readonly BadText[];
};

export function treesOf(statements: readonly Statement[]): Trees {
  const bad: BadText[] = [];
  const shapes = new Map<string, Shape | { readonly error: unknown }>();
  let kept = 0;
  const learn = (some: readonly Statement[]): void => {
    try {
      shapesOf(some).forEach((shape, i) => {
        shapes.set(some[i]?.strict ?? '', shape);
      });
    } catch (error) {
      const [first] = some;
      if (some.length > 1) for (const one of some) learn([one]);
      else if (first !== undefined) shapes.set(first.strict, { error });
    }
  };
  let next = 0;
  const shapeOf = (statement: Statement) => {
    const known = shapes.get(statement.strict);
    if (known !== undefined) return known;
    if (kept > mostKept) {
      shapes.clear();
      kept = 0;
    }
    const fresh = new Map([[statement.strict, statement]]);
    for (const one of statements.slice(next, next + batch - 1))
      if (!shapes.has(one.strict)) fresh.set(one.strict, one);
    for (const strict of fresh.keys()) kept += strict.length;
    learn([...fresh.values()]);
    return shapes.get(statement.strict);
  };
  const get: Trees['get'] = (statement) => {
    next++;
    const shape = shapeOf(statement);
    if (shape !== undefined && 'tree' in shape) return parsedAs(shape, statement);
    bad.push(explain(statement, shape?.error));
    return undefined;
  };
  return {
    get,
    bad() {
      for (let one = statements[next]; one !== undefined; one = statements[next]) get(one);
      return bad;
    },
  };
}
