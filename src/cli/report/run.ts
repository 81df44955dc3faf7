/** Text on the screen: rows, columns and lines that fit, and text of others within ours. */
import pc from 'picocolors';
import { countedItems, usdWords } from '../../core/amounts.ts';
import { type Spent, tokensOf } from '../../core/budget/usage.ts';
import { columnsOf } from './diagnostics.ts';
import { fittedCommand, fittedPath, type Sheet, wrappedWords } from './fit.ts';

export type Paint = ReturnType<typeof pc.createColors>;
export const painter = (colour: boolean): Paint => pc.createColors(colour);

/** Rows in columns: all cells but the last one padded, the room that these take, and the last. */
export function columns(rows: readonly (readonly string[])[]) {
  const widths = (rows[0] ?? [])
    .slice(0, -1)
    .map((_, at) => rows.reduce((most, row) => Math.max(most, columnsOf(row[at] ?? '')), 0));
  const used = widths.reduce((sum, wide) => sum + wide + 2, 0);
  return rows.map((row) => {
    const cells = widths.map((wide, at) => `${row[at] ?? ''}${' '.repeat(wide - columnsOf(row[at] ?? ''))}`);
    return { cells, used, last: row.at(-1) ?? '' };
  });
}

/** Without the colours of others, whose end may be missing, or which write in the colour of the ground; what could still
 *  be one is shown. */
const undyed = (text: string): string => text.replace(/\x1b\[[\d;]*m/g, '').replaceAll('\x1b', '\\u001b');

/** Text of nodes and models within our output: its later lines are indented so that none looks like one of ours. */
export const foreign = (text: string, indent: string): string =>
  // An expression for blanks before a line end would take minutes over a megabyte of blanks.
  undyed(text)
    .trim()
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .join(`\n${indent}`);

/** Blanks made one, colours of others dropped, and cut to `most` characters. */
export const oneLine = (text: string, most: number): string => {
  const flat = undyed(text).replace(/\s+/g, ' ').trim();
  const characters = [...flat];
  return characters.length <= most ? flat : `${characters.slice(0, most - 1).join('')}…`;
};

/** The last words of a text on one line of at most `room` columns, without anything that a terminal would act on. */
export function tail(text: string, room: number): string {
  if (room < 12) return '';
  const flat = [...text.replace(/[\p{C}\p{Z}]+/gu, ' ').trim()];
  let from = flat.length;
  for (let left = room - 1; from > 0; from -= 1) {
    // Letters of some scripts, and pictures, take two columns.
    left -= (flat[from - 1]?.codePointAt(0) ?? 0) >= 0x1100 ? 2 : 1;
    if (left < 0) break;
  }
  return from === 0 ? flat.join('') : `…${flat.slice(from).join('').trimStart()}`;
}

/** A row of `columns`, its last cell cut to the width. */
export function tableRow(
  { cells, used, last }: ReturnType<typeof columns>[number],
  width: number,
): { readonly text: string; readonly before: string; readonly last: string } {
  const before = cells.map((cell) => `${cell}  `).join('');
  const shown = oneLine(last, Math.max(12, width - used));
  return { text: `${before}${shown}`.trimEnd(), before, last: shown };
}

/** A name and a text; the text may be a path that people read, or a command that they copy. */
export type TextRow = readonly [name: string, text: string, kind?: 'path' | 'command' | 'next'];

/** Columns before the texts of rows. */
const beforeText = 12;

/** Rows as a summary has them; on a `sheet` no path and no word wraps. */
export const rowsText = (
  rows: readonly TextRow[],
  paint: Paint,
  sheet: Sheet | undefined,
): readonly string[] =>
  rows.map(([name, text, kind]) => {
    const head = `  ${paint.dim(name.padEnd(9))} `;
    const dye = kind === 'next' ? paint.bold : String;
    if (sheet === undefined) return `${head}${dye(text)}`;
    if (kind === 'path') return `${head}${fittedPath(text, sheet, sheet.columns - beforeText)}`;
    // A name that is wider than its column moves its text.
    const offset = Math.max(beforeText, name.length + 3);
    const fitted =
      kind === undefined
        ? wrappedWords(text, sheet.columns, ' '.repeat(beforeText), offset)
        : fittedCommand(text, sheet, offset, dye);
    return `${head}${fitted}`.replace(/ +\n/g, '\n');
  });

/** `1.23 USD (4 calls, 120k tokens), 2 calls of unknown cost`. */
export function spentWords(spent: Spent): string {
  const tokens = tokensOf(spent);
  const size =
    tokens >= 999_500
      ? `${Number((tokens / 1e6).toFixed(1))}M`
      : tokens >= 1e4
        ? `${Math.round(tokens / 1000)}k`
        : `${tokens}`;
  return [
    `${usdWords(spent.cost_usd)} (${countedItems(spent.calls, 'call')}, ${size} ${tokens === 1 ? 'token' : 'tokens'})`,
    ...(spent.unknown_cost > 0 ? [`${countedItems(spent.unknown_cost, 'call')} of unknown cost`] : []),
    ...(spent.cut > 0 ? [`${countedItems(spent.cut, 'call')} cut off`] : []),
  ].join(', ');
}
