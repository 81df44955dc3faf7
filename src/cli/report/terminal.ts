/** Draws lines on a terminal: those that stay, and below them some that the next drawing replaces. */
import { stripVTControlCharacters } from 'node:util';
import type { Io } from '../io.ts';
import { columnsOf } from './diagnostics.ts';

export interface Drawing {
  /** Prints `lines` for good, and `below` under them. */
  draw(lines: readonly string[], below: readonly string[]): void;
  /** Removes what is drawn below, for other output. */
  clear(): void;
}

/** How many of a terminal's rows the lines take: a long one takes several. */
export const rowsOnScreen = (lines: readonly string[], width: number): number =>
  lines.reduce(
    (sum, line) =>
      sum + Math.max(1, Math.ceil(columnsOf(stripVTControlCharacters(line)) / Math.max(1, width))),
    0,
  );

/** Lines of a terminal; one that does not know them has the usual number. */
export const heightOf = ({ height = 24 }: Pick<Io, 'height'>): number => height;

export function openDrawing(io: Pick<Io, 'err' | 'width'>): Drawing {
  let below: readonly string[] = [];
  const erasing = (): string => {
    if (below.length === 0) return '';
    // A terminal that became narrower has wrapped the lines.
    const rows = rowsOnScreen(below, io.width);
    return `\r\x1b[2K${'\x1b[1A\x1b[2K'.repeat(rows - 1)}`;
  };
  return {
    draw(lines, next) {
      const erase = erasing();
      below = next;
      const text = `${lines.map((line) => `${line}\n`).join('')}${next.join('\n')}`;
      if (erase !== '' || text !== '') io.err(`${erase}${text}`);
    },
    clear() {
      const erase = erasing();
      below = [];
      if (erase !== '') io.err(erase);
    },
  };
}
