/** A diagnostic as text: what, where, the line, and the fix. */
import pc from 'picocolors';
import type { Diagnostic, Span, WitnessStep } from '../../core/diagnostic.ts';
import { simulateLine } from '../../core/simulated-outcome.ts';
import { invocationOf } from '../arguments.ts';

const colours = { plain: pc.createColors(false), colour: pc.createColors(true) };

// More of a line than fits a terminal hides the caret; a window around it is shown.
const usual = 100;
const tab = 4;
const cut = '…';

/** Columns a character takes on a terminal. */
function width(character: string): number {
  if (/^(\p{Mn}|\p{Me}|\p{Cf})/u.test(character)) return 0;
  const code = character.codePointAt(0) ?? 0;
  const wide =
    /^\p{Emoji_Presentation}/u.test(character) ||
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0x303e) ||
    (code >= 0x3041 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0xffe0 && code <= 0xffe6) ||
    (code >= 0x20000 && code <= 0x3fffd);
  return wide ? 2 : 1;
}

/** Columns a text on one line takes on a terminal. */
export const columnsOf = (text: string): number =>
  [...text].reduce((sum, character) => sum + width(character), 0);

// Joiners of emoji are none of these.
const unseen = /[\u00A0\u00AD\u2000-\u200B\u200E\u200F\u2028-\u202F\u205F-\u2069\u3000\uFEFF]/g;
const named = (c: string): string => `<U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}>`;

/** Text of a message on one line, with nothing in it that could move the cursor or that nobody sees. */
const clean = (text: string): string =>
  text
    .replace(/\s*[\n\r]\s*/g, ' ')
    .replace(unseen, named)
    .replace(/\p{Cc}/gu, '·');

type Cell = { readonly shown: string; readonly width: number; readonly offset: number };

/** A line as cells: tabs filled, control characters made visible so that they cannot move the cursor. */
function cells(line: string, from: number): Cell[] {
  const found: Cell[] = [];
  let offset = from;
  let column = 0;
  for (const character of line) {
    const filled = tab - (column % tab);
    const cell: Cell =
      character === '\t'
        ? { shown: ' '.repeat(filled), width: filled, offset }
        : /[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u.test(character)
          ? { shown: '·', width: 1, offset }
          : { shown: character, width: width(character), offset };
    found.push(cell);
    column += cell.width;
    offset += character.length;
  }
  return found;
}

/** The line of `span`'s start, cut to a window, and the caret line below it. */
function snippet(text: string, span: Span, widest: number): { line: string; caret: string } {
  const { offset } = span.start;
  // A very long line is not taken whole, nor looked through: enough of it on both sides of the caret is.
  const reach = 4 * widest;
  const farthest = Math.max(0, offset - reach - 2);
  let begin = Math.min(offset, text.length);
  while (begin > farthest && !/[\n\r]/.test(text[begin - 1] ?? '')) begin--;
  if (begin === 0 && text.startsWith('\uFEFF')) begin = 1;
  const from = Math.max(offset, begin);
  const ahead = text.slice(from, from + reach + 1);
  const stops = ahead.search(/[\n\r]/);
  const end = from + (stops === -1 ? ahead.length : stops);
  const near = Math.max(begin, offset - reach);
  const head = /[\uDC00-\uDFFF]/.test(text[near] ?? '') ? near - 1 : near;
  const row = cells(text.slice(head, Math.min(end, offset + reach)), head);

  const first = row.findIndex((cell) => cell.offset >= offset);
  const at = first === -1 ? row.length : first;
  const beyond = row.findIndex((cell) => cell.offset >= span.end.offset);
  const stop = Math.max(beyond === -1 ? row.length : beyond, at + 1);
  const wide = (from: number, to: number) => row.slice(from, to).reduce((sum, cell) => sum + cell.width, 0);

  let left = 0;
  let right = row.length;
  if (wide(0, row.length) > widest || head > begin) {
    for (left = at; left > 0 && wide(left - 1, at) <= widest / 3; ) left--;
    for (right = Math.min(at + 1, row.length); right < row.length && wide(left, right + 1) <= widest; )
      right++;
  }
  const before = left > 0 || head > begin ? cut : '';
  const after = right < row.length || Math.min(end, offset + reach) < end ? cut : '';
  const shown = row.slice(left, right).map((cell) => cell.shown);
  const indent = ' '.repeat(before.length + wide(left, at));
  const under = '^'.repeat(Math.max(wide(at, Math.min(stop, right)), 1));
  return { line: `${before}${shown.join('')}${after}`.trimEnd(), caret: `${indent}${under}` };
}

/** Draws a finding. `text` is the text its place points into; without it, or without a place, no line is shown. Of a
 *  long line what `columns` take is shown. */
export function formatDiagnostic(
  d: Diagnostic,
  text: string | undefined,
  colour = false,
  columns?: number,
  program?: string,
): string {
  const c = colour ? colours.colour : colours.plain;
  const paint = { error: c.red, warning: c.yellow, hint: c.cyan }[d.severity];
  const lines = [`${c.bold(paint(`${d.severity}[${d.code}]`))}${c.bold(`: ${clean(d.message)}`)}`];
  const number = d.place === undefined ? '' : String(d.place.span.start.line);
  const margin = ' '.repeat(Math.max(number.length, 1));
  if (d.place !== undefined) {
    const { file, span } = d.place;
    lines.push(`${margin}${c.blue('-->')} ${clean(file)}:${span.start.line}:${span.start.column}`);
    if (text !== undefined) {
      // The margin has the line number, a bar, and a mark for text that is cut off.
      const room = Math.min(usual, Math.max(20, (columns ?? usual + 20) - margin.length - 6));
      const { line, caret } = snippet(text, span, room);
      lines.push(`${c.blue(`${number} |`)} ${line}`.trimEnd());
      lines.push(`${c.blue(`${margin} |`)} ${paint(caret)}`);
    }
  }
  if (d.witness !== undefined) lines.push(`${margin} ${c.blue('=')} e.g. ${clean(witnessLine(d.witness))}`);
  const show = shownBy(d);
  if (show !== undefined) lines.push(`${margin} ${c.blue('=')} show: ${clean(invocationOf(show, program))}`);
  if (d.fix !== undefined) lines.push(`${margin} ${c.blue('=')} fix: ${clean(invocationOf(d.fix, program))}`);
  return lines.join('\n');
}

/** The command that shows the example run of a finding; undefined without one. */
export const shownBy = ({ witness, place }: Diagnostic): string | undefined =>
  witness === undefined || place === undefined ? undefined : simulateLine(place.file, witness);

// A way longer than that is shown by its ends.
const mostSteps = 12;

/** A run as one line: `start -(success)-> a -(fail)-> b`. */
function witnessLine(steps: readonly WitnessStep[]): string {
  const walked = steps.map((step) => {
    const { node, edge } = step;
    if (step.exit === true) return node;
    const to = edge === null ? ' no edge' : '';
    return `${node} -(${howItEnds(step)})->${to}`;
  });
  const goes = steps.at(-1)?.edge?.to;
  if (goes !== undefined) walked.push(goes);
  return (
    walked.length > mostSteps
      ? [
          ...walked.slice(0, mostSteps / 2),
          `… ${walked.length - mostSteps} more …`,
          ...walked.slice(-mostSteps / 2),
        ]
      : walked
  ).join(' ');
}

function howItEnds(step: WitnessStep): string {
  const sets = Object.entries(step.sets ?? {}).map(([key, value]) => `${key}=${value === '' ? '""' : value}`);
  return [
    step.broke === true ? `${step.outcome}, broken` : step.outcome,
    ...(step.failure_class === undefined ? [] : [step.failure_class]),
    ...(step.preferred_label === undefined ? [] : [`label "${step.preferred_label}"`]),
    ...(step.suggested_ids ?? []).map((id) => `suggests ${id}`),
    ...sets,
  ].join(', ');
}

/** Findings of one code that a terminal shows. */
const mostOfCode = 20;

/** For a terminal the first findings of each code, and how many more there are, in a line for each; a file, a pipe and
 *  `--json` get them all. */
export function fewOfEach(
  found: readonly Diagnostic[],
  toTerminal: boolean,
): { readonly shown: readonly Diagnostic[]; readonly more: readonly string[] } {
  if (!toTerminal || found.length <= mostOfCode) return { shown: found, more: [] };
  const seen = new Map<string, number>();
  const shown = found.filter(({ code }) => {
    const count = (seen.get(code) ?? 0) + 1;
    seen.set(code, count);
    return count <= mostOfCode;
  });
  const more = [...seen].flatMap(([code, count]) =>
    count > mostOfCode
      ? [`and ${count - mostOfCode} more of ${code} (a file or a pipe gets all of them)`]
      : [],
  );
  return { shown, more };
}
