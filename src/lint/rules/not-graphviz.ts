/** Hints at syntax that Graphviz does not read: its programs and editors cannot show the pipeline. */
import { isGraphvizWord } from '../../dot/prepass.ts';
import { finding, type Rule } from '../rule.ts';

const most = 5;

/** What Graphviz refuses about this piece of the text. */
const reasonFor = (piece: string): string =>
  piece === '#'
    ? 'a comment after a statement begins with // there'
    : /^[;,]$/.test(piece)
      ? 'it takes no further separator there'
      : 'names with dots and durations need quotes there';

/** The same for Graphviz: words in quotes, and without what it takes no second time. */
const readable = (piece: string): string =>
  piece === '#' ? '//' : isGraphvizWord(piece) || /^[;,]$/.test(piece) ? '' : `"${piece}"`;

export const notGraphviz: Rule = {
  code: 'not-graphviz',
  severity: 'hint',
  rule: 'Graphviz can read the file too: names with dots, durations and similar values are in quotes, a comment after a statement begins with `//`.',
  wrong: 'start; exit; a [label=a, timeout=30s]; start -> a -> exit',
  fix: '`factory fmt FILE`',
  needs: 'whole graph',
  check: ({ graph }) => {
    const [span, ...rest] = graph.notGraphviz;
    if (span === undefined) return [];
    const lines = [...new Set([span, ...rest].map(({ start }) => start.line))];
    const shown = `${lines.slice(0, most).join(', ')}${lines.length > most ? ', …' : ''}`;
    const where = `${lines.length === 1 ? 'line' : 'lines'} ${shown}`;
    const places = rest.length === 0 ? 'in one place' : `in ${rest.length + 1} places`;
    const words = new Set(
      [span, ...rest].map(({ start, end }) => reasonFor(graph.text.slice(start.offset, end.offset))),
    );
    const hint = finding(graph, notGraphviz, {
      message: `Graphviz cannot read this file, ${places} (${where}): ${[...words].join('; ')}`,
      span,
      fix: `factory fmt ${graph.file}`,
    });
    const edits = graph.notGraphviz.map((place) => ({
      span: place,
      text: readable(graph.text.slice(place.start.offset, place.end.offset)),
    }));
    return [{ ...hint, edits, sure: true }];
  },
};
