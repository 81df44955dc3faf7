/** Lines of a program's output as a terminal would leave them. */
import { plainText } from './ansi.ts';

/** A line that a progress bar has rewritten with `\r` keeps its last text. */
const folded = (line: string): string => {
  if (!line.includes('\r')) return line;
  const written = line.split('\r').filter((part) => plainText(part) !== '');
  return written.at(-1) ?? '';
};

/** The lines of a text; a last line end begins no further line. */
export function outputLines(text: string): readonly string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map(folded);
}

/** The last line that is not blank, without colours. */
export const lastLine = (text: string): string =>
  plainText(outputLines(text).findLast((line) => plainText(line).trim() !== '') ?? '').trim();

/** The last lines with words, without colours; of a long text only its end is looked at. */
export const lastLines = (text: string, most: number): readonly string[] =>
  outputLines(text.slice(-16_000))
    .map((line) => plainText(line).trimEnd())
    .filter((line) => line !== '')
    .slice(-most);

/** The part of the lines that is shown: the last `most`, unless a line before them is wanted. `first` is the index of
 *  the first one, a multiple of `step`: the beginning of a growing text does not move with each line. */
export function shownPart(
  lines: readonly string[],
  most: number,
  target?: number,
  step = 1,
): { readonly first: number; readonly lines: readonly string[] } {
  const end = Math.max(0, lines.length - most);
  const from = target === undefined ? end : Math.max(0, Math.min(end, target - 1 - Math.floor(most / 2)));
  const first = from - (from % step);
  return { first, lines: lines.slice(first, from + most) };
}

/** Indices of the lines that contain the words, in any case. */
export function linesWith(lines: readonly string[], words: string): readonly number[] {
  const sought = words.toLowerCase();
  if (sought === '') return [];
  return lines.flatMap((line, index) => (plainText(line).toLowerCase().includes(sought) ? [index] : []));
}
