/** Parses a pipeline text to a graph or diagnostics. */
import type { Diagnostic } from '../core/diagnostic.ts';
import type { ParsedGraph } from '../core/graph.ts';
import { build } from './build.ts';
import type { BadText, Range } from './lex.ts';
import { positionsOf } from './literals.ts';
import { piecesOf } from './parse.ts';
import { rewrite } from './prepass.ts';

const mostCharacters = 10 * 1024 * 1024;
const mostFindings = 500;

/** After a missing or extra quote, strings and the text between them are swapped: from there on only the quote is
 *  reported. */
function withStuck(all: readonly BadText[], stuck: Range, text: string, line: string): readonly BadText[] {
  const isCut = ({ code }: BadText) => code.startsWith('unclosed-');
  if (!all.some((one) => one.start >= stuck.start || isCut(one))) return all;
  const next = /^\w+/.exec(text.slice(stuck.end, stuck.end + 40))?.[0];
  const before = next === undefined ? 'a quote' : `"${next}"`;
  return [
    ...all.filter((one) => one.start < stuck.start && !isCut(one)),
    {
      ...stuck,
      code: 'unclosed-string',
      message: `this ends${line} right before ${before}: a quote is missing, or one too many`,
      fix: 'close the string where it should end, remove the quote, or write \\" for one inside a string',
    },
  ];
}

/** The graph that a pipeline text describes, and diagnostics for everything that is refused. Never throws.
 *
 *  The graph is undefined if statements or braces could not be read. It is defined, so that lint can continue, if the
 *  refused parts leave the rest clear (a port, an HTML value, an invalid id); a caller that wants to run it must check
 *  the diagnostics for errors first. `file` is the path as the user typed it. */
export function readGraph(
  file: string,
  text: string,
): { readonly graph: ParsedGraph | undefined; readonly diagnostics: readonly Diagnostic[] } {
  const positions = positionsOf(text);
  const report = ({ code, message, start, end, fix, edits }: BadText): Diagnostic => ({
    code,
    severity: 'error',
    message,
    place: { file, span: positions.span(start, end) },
    fix,
    ...(edits === undefined
      ? {}
      : {
          edits: edits.map((one) => ({ span: positions.span(one.start, one.end), text: one.text })),
          sure: true as const,
        }),
  });
  const nul = text.indexOf('\0');
  if (nul !== -1)
    return {
      graph: undefined,
      diagnostics: [
        report({
          code: 'binary-text',
          message: 'the file contains a NUL character: it is not a text',
          start: nul,
          end: nul + 1,
          fix: 'save the pipeline as UTF-8 text',
        }),
      ],
    };
  if (text.length > mostCharacters)
    return {
      graph: undefined,
      diagnostics: [
        report({
          code: 'too-large',
          message: `the file has more than ${mostCharacters} characters`,
          start: 0,
          end: 0,
          fix: 'keep long prompts in separate files: prompt="@prompts/x.md"',
        }),
      ],
    };

  const rewritten = rewrite(text);
  const { header, whole, stuck } = rewritten;
  const failed: BadText[] = [];
  const built =
    header === undefined
      ? undefined
      : build({ file, text, positions }, header, piecesOf(text, rewritten, failed), rewritten.notGraphviz);
  const all = [...rewritten.bad, ...failed, ...(built?.bad ?? [])].sort((a, b) => a.start - b.start);
  const line = positions.at(stuck?.end ?? 0).line;
  const where = line === positions.at(stuck?.start ?? 0).line ? '' : ` in line ${line}`;
  const bad = stuck === undefined ? all : withStuck(all, stuck, text, where);
  return {
    graph: whole && failed.length === 0 && bad === all ? built?.graph : undefined,
    diagnostics: bad.slice(0, mostFindings).map(report),
  };
}
