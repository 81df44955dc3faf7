/** Reads a pipeline text: a graph, or what is wrong with the text. */
import type { Diagnostic } from '../model/diagnostic.ts';
import type { Graph } from '../model/graph.ts';
import { build } from './build.ts';
import { outline } from './dialect.ts';
import type { BadText, Turned } from './lex.ts';
import { treesOf } from './parse.ts';
import { type Positions, positionsOf } from './positions.ts';

const mostCharacters = 64 * 1024 * 1024;
const mostFindings = 500;

/** Behind a quote that is missing or one too many, strings and what stands between them have changed places: nothing
 *  that is found from there on is worth telling. Where something is wrong before it, that comes first. */
function blamed(
  { start, end, before }: Turned,
  all: readonly BadText[],
  positions: Positions,
): readonly BadText[] {
  const unclosed = ({ code }: BadText) => code.startsWith('unclosed-');
  const earlier = all.filter((one) => one.start < start && !unclosed(one));
  if (earlier.some(({ code }) => code === 'syntax')) return all;
  if (!all.some((one) => one.start >= start || unclosed(one))) return all;
  const line = positions.at(end).line;
  const where = line === positions.at(start).line ? '' : ` in line ${line},`;
  const message = `this string ends${where} right before ${quoted(before)}: a quote is missing, or one too many`;
  return [
    ...earlier,
    {
      code: 'unclosed-string',
      message,
      start,
      end: start + 1,
      fix: 'close the string where it should end, take the quote away, or write \\" for one inside a string',
    },
  ];
}

const quoted = (text: string): string => (text === '"' ? 'another quote' : `"${text.slice(0, 40)}"`);

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

  const { header, items, bad: refused, whole, turned } = outline(text);
  const statements = items.flatMap((item) => (item.kind === 'statement' ? [item] : []));
  const trees = treesOf(statements);
  const built = header === undefined ? undefined : build({ file, text, positions }, header, items, trees);
  const unread = trees.bad();
  // A value that is refused for what it is has told already why its statement does not read.
  const explained = new Set(refused.map(({ start }) => start));
  const news = unread.filter(({ start }) => !explained.has(start));
  const all = [...refused, ...news, ...(built?.bad ?? [])].sort((a, b) => a.start - b.start);
  const bad = turned === undefined ? all : blamed(turned, all, positions);
  return {
    graph: whole && unread.length === 0 && bad === all ? built?.graph : undefined,
    diagnostics: bad.slice(0, mostFindings).map(say),
  };
}
