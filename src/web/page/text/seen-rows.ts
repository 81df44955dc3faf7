/** Which rows of a long list are in view, and where they are after it has changed. */

/** Rows that are drawn above and below what is in view. */
const around = 12;

/** The indexes of the rows to draw, the second one excluded. `top` is that of the list in a window of `visible` pixels. */
export function indexesSeen(
  top: number,
  visible: number,
  height: number,
  count: number,
): readonly [first: number, end: number] {
  const within = (index: number): number => Math.min(count, Math.max(0, index));
  const first = within(Math.floor(-top / height) - around);
  return [first, Math.max(first, within(Math.ceil((visible - top) / height) + around))];
}

/** A list in a page. */
type PlacedRows = {
  readonly ids: readonly string[];
  /** Pixels from the top of the page to its first row. */
  readonly top: number;
  /** Of a row. */
  readonly height: number;
};

/** Pixels by which the first row in view has moved: 0 where rows of this list do not reach above `from`, a place in the page. */
export function shiftOf(before: PlacedRows, now: PlacedRows, from: number): number {
  const first = Math.ceil((from - before.top) / before.height);
  if (!(first > 0)) return 0;
  for (const [at, id] of before.ids.slice(first, first + 2 * around).entries()) {
    const index = now.ids.indexOf(id);
    // The row may have moved to another list.
    if (index >= 0) return now.top + index * now.height - (before.top + (first + at) * before.height);
  }
  return 0;
}
