/** Converts offsets of a text to lines and columns. */
import type { Position, Span } from '../model/diagnostic.ts';

export type Positions = {
  /** The position of `offset`; offsets outside of the text become its nearest end. */
  at(offset: number): Position;
  span(start: number, end: number): Span;
};

/** Index of the last entry of an ascending list that is not above `wanted`; -1 if there is none. */
export function lastUpTo(list: readonly number[], wanted: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle] ?? 0) <= wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Lines end with `\n`, `\r\n` or a lone `\r`. A byte order mark has no column, as in editors. */
export function positionsOf(text: string): Positions {
  const lines = [text.startsWith('\uFEFF') ? 1 : 0];
  for (const newline of text.matchAll(/\r\n|\n|\r/g)) lines.push(newline.index + newline[0].length);
  // Columns count characters: a surrogate pair is one.
  const pairs = [...text.matchAll(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)].map((pair) => pair.index + 1);

  const at = (wanted: number): Position => {
    const offset = Math.min(Math.max(wanted, 0), text.length);
    const line = Math.max(lastUpTo(lines, offset), 0);
    const start = lines[line] ?? 0;
    const paired = pairs.length === 0 ? 0 : lastUpTo(pairs, offset - 1) - lastUpTo(pairs, start - 1);
    return { offset, line: line + 1, column: Math.max(offset - start - paired, 0) + 1 };
  };
  return { at, span: (start, end) => ({ start: at(start), end: at(Math.max(start, end)) }) };
}

const kept = new WeakMap<object, Positions>();

/** The positions of a graph's text, computed once. */
export function positionsIn(graph: { readonly text: string }): Positions {
  const known = kept.get(graph);
  if (known !== undefined) return known;
  const made = positionsOf(graph.text);
  kept.set(graph, made);
  return made;
}
