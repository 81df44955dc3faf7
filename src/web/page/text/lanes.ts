/** The timeline of a run: a lane for each node, a bar for each execution, its attempts and waits. */
import type { ExecutionRow } from '../../../app/inspect/shapes.ts';

/** What fills a part of a bar: time in model calls, other time of an attempt, or a wait before the next attempt. */
export interface BarPart {
  readonly kind: 'model' | 'tool' | 'wait';
  readonly from: number;
  readonly to: number;
}

export interface Bar {
  readonly execution: ExecutionRow;
  readonly lane: number;
  /** Milliseconds since the epoch, as in the parts. */
  readonly from: number;
  readonly to: number;
  readonly parts: readonly BarPart[];
}

/** A time in which nothing ran, drawn shorter than it was. */
export interface IdleTime {
  readonly from: number;
  readonly to: number;
}

export interface Lanes {
  readonly lanes: readonly { readonly node: string; readonly label: string }[];
  readonly bars: readonly Bar[];
  readonly idle: readonly IdleTime[];
  /** Place of a time on the axis, 0 to 1. */
  readonly at: (time: number) => number;
  /** The time at a place. */
  readonly timeAt: (place: number) => number;
}

export function timelineLanes(executions: readonly ExecutionRow[], now: number): Lanes {
  const nodes = new Map<string, { node: string; label: string }>();
  for (const { node, label } of executions) if (!nodes.has(node)) nodes.set(node, { node, label });
  const order = [...nodes.keys()];
  const bars = executions.map((execution): Bar => {
    const from = Date.parse(execution.began_at);
    const to = execution.ended_at === null ? Math.max(now, from) : Date.parse(execution.ended_at);
    return { execution, lane: order.indexOf(execution.node), from, to, parts: parts(execution, from, to) };
  });
  return { lanes: [...nodes.values()], bars, ...axis(bars) };
}

/** What a lane draws in one place: a bar, or several that are too narrow to be distinguished. */
export type LaneItem = readonly Bar[];

/** The items of a lane. `narrow` is the smallest width that can be distinguished, in places of the axis. */
export function laneItems(bars: readonly Bar[], at: Lanes['at'], narrow: number): readonly LaneItem[] {
  const items: Bar[][] = [];
  const isNarrow = ({ from, to }: Bar) => at(to) - at(from) < narrow;
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

/** Attempts and the pauses between them. The share of model calls, of which only the sum is known, comes first in each. */
function parts({ model_ms, waits }: ExecutionRow, from: number, to: number): readonly BarPart[] {
  const attempts: IdleTime[] = [];
  const pauses: BarPart[] = [];
  let begin = from;
  for (const wait of waits) {
    const end = Math.min(to, Math.max(begin, Date.parse(wait.at)));
    attempts.push({ from: begin, to: end });
    begin = Math.min(to, end + wait.ms);
    if (begin > end) pauses.push({ kind: 'wait', from: end, to: begin });
  }
  attempts.push({ from: begin, to });
  const worked = attempts.reduce((sum, attempt) => sum + attempt.to - attempt.from, 0);
  const share = worked === 0 ? 0 : Math.min(1, model_ms / worked);
  const all = attempts.flatMap((attempt): BarPart[] => {
    const middle = attempt.from + (attempt.to - attempt.from) * share;
    return [
      { kind: 'model', from: attempt.from, to: middle },
      { kind: 'tool', from: middle, to: attempt.to },
    ];
  });
  return [...all.filter((part) => part.to > part.from), ...pauses].sort((a, b) => a.from - b.from);
}

/** The axis leaves long idle times (a suspended night) at a fiftieth of the width. */
function axis(bars: readonly Bar[]): Pick<Lanes, 'idle' | 'at' | 'timeAt'> {
  const busy: IdleTime[] = [];
  for (const { from, to } of [...bars].sort((a, b) => a.from - b.from)) {
    const last = busy.at(-1);
    if (last !== undefined && from <= last.to)
      busy[busy.length - 1] = { from: last.from, to: Math.max(last.to, to) };
    else busy.push({ from, to });
  }
  const worked = busy.reduce((sum, { from, to }) => sum + to - from, 0);
  const gaps = busy.slice(1).map((one, index) => ({ from: busy[index]?.to ?? one.from, to: one.from }));
  const idle = gaps.filter(({ from, to }) => to - from > Math.max(5_000, worked / 5));
  const short = Math.max(1, worked / 50);
  const knots: [time: number, place: number][] = [];
  let place = 0;
  let time = busy[0]?.from ?? 0;
  const add = (to: number, width: number) => {
    place += width;
    time = to;
    knots.push([time, place]);
  };
  add(time, 0);
  for (const gap of idle) {
    add(gap.from, gap.from - time);
    add(gap.to, short);
  }
  const end = busy.at(-1)?.to ?? time;
  add(end, Math.max(1, end - time));
  return {
    idle,
    at: (sought) => between(knots, sought, 0) / place,
    timeAt: (sought) => between(knots, sought * place, 1),
  };
}

/** Linear between the two knots around a value of column `by`; the value of the other column. */
function between(knots: readonly (readonly [number, number])[], value: number, by: 0 | 1): number {
  const other = by === 0 ? 1 : 0;
  const found = knots.findIndex((knot) => knot[by] >= value);
  const right = found < 0 ? knots.at(-1) : knots[found];
  const left = found <= 0 ? knots[0] : knots[found - 1];
  if (left === undefined || right === undefined) return 0;
  const width = right[by] - left[by];
  if (found < 0 || width === 0) return right[other];
  return left[other] + ((Math.max(value, left[by]) - left[by]) / width) * (right[other] - left[other]);
}

/** Times for about `most` marks of an axis between two times: multiples of a round step after `begin`, none in idle times. */
export function axisMarks(
  { begin, from, to }: { readonly begin: number; readonly from: number; readonly to: number },
  idle: readonly IdleTime[],
  most: number,
): readonly number[] {
  const breaks = idle.filter((gap) => gap.to > from && gap.from < to);
  const edges = [from, ...breaks.flatMap((gap) => [Math.max(from, gap.from), Math.min(to, gap.to)]), to];
  const busy = edges.flatMap((edge, index) =>
    index % 2 === 0 ? [{ from: edge, to: edges[index + 1] ?? to }] : [],
  );
  const worked = busy.reduce((sum, part) => sum + part.to - part.from, 0);
  const steps = [
    0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 86_400,
  ];
  const step = (steps.find((seconds) => worked / (seconds * 1000) <= most) ?? 604_800) * 1000;
  return busy.flatMap((part) => {
    const first = Math.ceil((part.from - begin) / step);
    const last = Math.floor((part.to - begin) / step);
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => begin + (first + at) * step);
  });
}
