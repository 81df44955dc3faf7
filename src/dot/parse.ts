/** Parses the rewritten text with `@ts-graphviz/ast`, and explains refused statements. */
import { type ClusterStatementASTNode, parse } from '@ts-graphviz/ast';
import { type BadText, isLiteral, type Range } from './lex.ts';
import { literalText } from './literals.ts';
import { type Rewritten, subgraphEnd } from './prepass.ts';

export type SyntaxTree = ClusterStatementASTNode;

/** Trees of successive statements. Their locations are relative to `base`, an offset in the author's text. */
export type Piece = { readonly base: number; readonly trees: readonly SyntaxTree[] };

/** A place of a tree in the author's text. */
export function rangeOf(
  base: number,
  { location }: { readonly location?: { start: { offset: number }; end: { offset: number } } },
): Range {
  if (location === undefined) throw new Error('Internal: a syntax tree without a location');
  return { start: base + location.start.offset, end: base + location.end.offset };
}

const mostFailures = 500;

/** Parses a text piece by piece: all trees at once would need much memory. The statements of a refused piece are parsed
 *  one by one, so that every mistake is found; such trees only serve to find further mistakes. Refused statements are
 *  added to `failed`. */
export function* piecesOf(text: string, rewritten: Rewritten, failed: BadText[]): Generator<Piece> {
  const { strict, pieces, bad } = rewritten;
  const isReported = ({ start, end }: Range) => bad.some((one) => one.start >= start && one.start < end);
  let next = 0;
  for (const piece of pieces) {
    const first = next;
    while ((rewritten.statements[next]?.start ?? piece.end) < piece.end) next++;
    const read = treesOf(strict, piece);
    if ('trees' in read) {
      yield read;
      continue;
    }
    const before = failed.length;
    for (const statement of rewritten.statements.slice(first, next)) {
      const alone = treesOf(strict, statement);
      if ('trees' in alone) yield alone;
      else if (!isReported(statement)) failed.push(explain(text, rewritten, statement, alone.error));
      if (failed.length > mostFailures) return;
    }
    if (failed.length === before && bad.length === 0)
      failed.push(explain(text, rewritten, piece, read.error));
  }
}

function treesOf(strict: string, { start, end }: Range): Piece | { readonly error: unknown } {
  const text = strict.slice(start, end);
  try {
    return {
      base: start,
      trees: parse(text, { startRule: 'ClusterStatements', maxASTNodes: 0, maxInputSize: 0 }),
    };
  } catch (error) {
    return { error };
  }
}

/** Where parsing failed, and whether the cause is a syntax error or a limit of the library. */
function failureOf(error: unknown): { readonly offset: number; readonly isSyntax: boolean } {
  const cause = error instanceof Error ? error.cause : undefined;
  if (
    !(error instanceof SyntaxError) ||
    typeof cause !== 'object' ||
    cause === null ||
    !('location' in cause)
  )
    return { offset: 0, isSyntax: false };
  const { location, expected } = cause as { location: { start: { offset: number } }; expected: unknown }; // of Peggy
  return { offset: location.start.offset, isSyntax: expected !== null };
}

function explain(text: string, { tokens: all }: Rewritten, statement: Range, error: unknown): BadText {
  const tokens = all.filter(({ start, end }) => start >= statement.start && end <= statement.end);
  const { offset, isSyntax } = failureOf(error);
  const found = tokens.findIndex(({ start }) => start >= statement.start + offset);
  const i = found === -1 ? tokens.length : found;
  const [equals, earlier, before, token] = [tokens[i - 3], tokens[i - 2], tokens[i - 1], tokens[i]];
  const place = token ?? before ?? statement;
  const shown = (one: Range): string => literalText(text, one).slice(0, 40);
  const bad = (message: string, fix: string, { start, end }: Range = place): BadText => ({
    code: 'syntax',
    message,
    start,
    end,
    fix,
  });
  if (!isSyntax)
    return bad(
      'this statement is too large: it has too many edges or subgraphs in a row',
      'split it into several statements',
      tokens[0] ?? place,
    );
  const open = tokens.slice(0, i).findLast(({ kind }) => kind === '[' || kind === '{');
  if (before?.kind === '=')
    return bad(`a value is missing after "${shown(earlier ?? before)}" =`, 'write a value', before);
  if (before?.kind === '->') return bad('this edge has no target', 'name the node after the arrow', before);
  if (open?.kind === '{' || (token?.kind === '{' && open === undefined)) return subgraphEnd(open ?? place);
  if (token?.kind === ',' && open === undefined)
    return bad(
      'a comma can only separate attributes in [ ]',
      'write ; between statements, { a b } for several nodes at one end of an edge, quotes around a value with a comma',
    );
  if (open === undefined || !isLiteral(before) || earlier?.kind === '=')
    return bad(
      `"${shown(place)}" cannot stand here`,
      'check whether a quote, a bracket or an = is missing before it',
    );
  if (earlier?.kind !== 'string' && equals?.kind === '=' && !shown(before).endsWith(':'))
    return {
      ...bad('a value with blanks must be in quotes', 'write the whole value in double quotes', earlier),
      ...quotedWords(text, tokens, i - 2),
    };
  return bad(
    `the attribute "${shown(before)}" has no value`,
    `write ${shown(before).replace(/:$/, '')}=…`,
    before,
  );
}

/** The words from one token on in double quotes, up to a sign or the name of the next attribute. */
function quotedWords(
  text: string,
  tokens: Rewritten['tokens'],
  from: number,
): Pick<BadText, 'edits'> | undefined {
  const first = tokens[from];
  let last = first;
  for (let i = from + 1; tokens[i]?.kind === 'word' && tokens[i + 1]?.kind !== '='; i++) last = tokens[i];
  if (first?.kind !== 'word' || last === undefined) return undefined;
  const words = text.slice(first.start, last.end);
  return /["\n\r]/.test(words)
    ? undefined
    : { edits: [{ start: first.start, end: last.end, text: `"${words}"` }] };
}
