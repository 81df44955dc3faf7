/** Some lines of a program's output around the one that says what failed. Pure. */
import { failureLine, plainLines } from './failure-excerpt.ts';
import { type FailurePlace, placesIn } from './failure-place.ts';

export type FailureBlock = {
  readonly lines: readonly string[];
  /** Number of the first of them in the output, from 1. */
  readonly first: number;
  /** Which of them says what failed; null if none does. */
  readonly at: number | null;
};

const most = { lines: 10, before: 4, characters: 400 } as const;

/** At most ten lines around the line `telling` (by default the one that most says what failed), else the last ones; undefined
 *  where `telling` is not in the output, and for an output without any text. */
export function failureBlock(output: string, telling?: string): FailureBlock | undefined {
  const lines = plainLines(output);
  while (lines.at(-1)?.trim() === '') lines.pop();
  if (lines.length === 0) return undefined;
  const named = telling ?? failureLine(output);
  const found = named === undefined ? -1 : lines.findIndex((line) => bare(line) === bare(named));
  if (found === -1 && telling !== undefined) return undefined;
  const from = found === -1 ? Math.max(0, lines.length - most.lines) : Math.max(0, found - most.before);
  return {
    lines: lines.slice(from, from + most.lines).map(shortened),
    first: from + 1,
    at: found === -1 ? null : found - from,
  };
}

const bare = (line: string): string => line.trim().replace(/^\|\s+/, '');

const shortened = (line: string): string =>
  line.length > most.characters ? `${line.slice(0, most.characters - 1)}…` : line.trimEnd();

/** The places that the block names, those nearest to its telling line first. */
export function placesNear({ lines, at }: Pick<FailureBlock, 'lines' | 'at'>): readonly FailurePlace[] {
  const from = at ?? lines.length - 1;
  return lines
    .map((line, index) => ({ line, distance: Math.abs(index - from) }))
    .sort((a, b) => a.distance - b.distance)
    .flatMap(({ line }) => placesIn(line));
}
