/** Reads a pipeline text: a graph, or what is wrong with the text. */
import type { Diagnostic } from '../model/diagnostic.ts';
import type { Graph } from '../model/graph.ts';
import { build } from './build.ts';
import { rewrite } from './dialect.ts';
import type { BadText } from './lex.ts';
import { piecesOf } from './parse.ts';
import { positionsOf } from './positions.ts';
import type { Range } from './scan.ts';

const mostCharacters = 10 * 1024 * 1024;
const mostFindings = 500;

/** Behind a quote that is missing or one too many, strings and the text between them are mistaken for each other: of what
 *  is found from there on only the quote is reported. */
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
      fix: 'close the string where it should end, take the quote away, or write \\" for one inside a string',
    },
  ];
}

/** The graph that a pipeline text describes, and everything in the text that is refused. Never throws.
 *
 *  The graph is undefined when statements or braces could not be made sense of. It is there, for lint to go on with,
 *  when what is refused leaves no doubt about the rest (a port, an HTML value, an id out of form); a caller that wants
 *  to run it asks for errors among the diagnostics first. `file` is the path as the user typed it. */
export function readGraph(
  file: string,
  text: string,
): { readonly graph: Graph | undefined; readonly diagnostics: readonly Diagnostic[] } {
  const positions = positionsOf(text);
  const say = ({ code, message, start, end, fix }: BadText): Diagnostic => ({
    code,
    severity: 'error',
    message,
    place: { file, span: positions.span(start, end) },
    fix,
  });
  const nul = text.indexOf('\0');
  if (nul !== -1)
    return {
      graph: undefined,
      diagnostics: [
        say({
          code: 'binary-text',
          message: 'the file holds a NUL character: it is no text',
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
        say({
          code: 'too-large',
          message: `the file has more than ${mostCharacters} characters`,
          start: 0,
          end: 0,
          fix: 'keep long prompts in files of their own: prompt="@prompts/x.md"',
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
    diagnostics: bad.slice(0, mostFindings).map(say),
  };
}
