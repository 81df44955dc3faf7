/** What the lanes of a timeline draw: parts of a bar, and bars that are too narrow to be distinguished. */
import type { Timeline, TimelineBar, TimeSpan } from '../../../app/inspect/timeline.ts';

/** What fills a part of a bar: time in model calls, other time of an attempt, or a wait before the next attempt. */
export interface BarPart extends TimeSpan {
  readonly kind: 'model' | 'tool' | 'wait';
}

/** Attempts and the waits between them. The share of model calls comes first in each attempt. */
export function barParts({ attempts, waits, model }: TimelineBar): readonly BarPart[] {
  const parts = attempts.flatMap(({ from, to }): BarPart[] => {
    const middle = from + (to - from) * model;
    return [
      { kind: 'model', from, to: middle },
      { kind: 'tool', from: middle, to },
    ];
  });
  return [
    ...parts.filter(({ from, to }) => to > from),
    ...waits.map((wait) => ({ kind: 'wait' as const, ...wait })),
  ].sort((a, b) => a.from - b.from);
}

/** What a lane draws in one place: a bar, or several that are too narrow to be distinguished. */
export type LaneItem = readonly TimelineBar[];

/** The items of a lane. `narrow` is the smallest width that can be distinguished, in places of the axis. */
export function laneItems(
  bars: readonly TimelineBar[],
  at: Timeline['at'],
  narrow: number,
): readonly LaneItem[] {
  const items: TimelineBar[][] = [];
  const isNarrow = ({ from, to }: TimeSpan) => at(to) - at(from) < narrow;
  for (const bar of bars) {
    const item = items.at(-1);
    const first = item?.[0];
    const last = item?.at(-1);
    const joins =
      first !== undefined &&
      last !== undefined &&
      [first, bar].every(isNarrow) &&
      at(bar.from) - at(last.to) < narrow &&
      // Several small items keep the place of a failure.
      at(bar.to) - at(first.from) < 5 * narrow;
    if (joins) item?.push(bar);
    else items.push([bar]);
  }
  return items;
}
