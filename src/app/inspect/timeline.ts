/** The time of a run for the page and the pictures: a lane for each node, a bar for each execution, and an axis on which long
 *  pauses are short. Pure. */
import type { ExecutionRow } from './shapes.ts';

/** Milliseconds since the epoch. */
export type TimeSpan = { readonly from: number; readonly to: number };

export type TimelineBar = TimeSpan & {
  readonly execution: ExecutionRow;
  readonly attempts: readonly TimeSpan[];
  /** Between the attempts. */
  readonly waits: readonly TimeSpan[];
  /** The share of model calls in the time of the attempts, 0 to 1: only their sum is known. */
  readonly model: number;
};

export type TimelineLane = {
  /** Id of the node, or of the branch. */
  readonly id: string;
  readonly label: string;
  /** What its icon stands for: a branch has no type. */
  readonly type: string | null;
  readonly bars: readonly TimelineBar[];
};

export type Timeline = TimeSpan & {
  /** In the order in which the run came to them: one for each node, and one for each branch. */
  readonly lanes: readonly TimelineLane[];
  /** Times in which nothing ran, as the axis cuts them short. */
  readonly pauses: readonly TimeSpan[];
  /** Place of a time on the axis, 0 to 1. */
  readonly at: (time: number) => number;
  /** The time at a place. */
  readonly timeAt: (place: number) => number;
};

/** The timeline of these executions. `now`: the end of one that runs; by default when it was read. */
export function timelineOf(executions: readonly ExecutionRow[], now?: number): Timeline {
  const bars = executions.map((execution) => barOf(execution, now));
  const lanes = lanesOf(bars);
  const busy = joinedSpans(bars);
  const from = busy[0]?.from ?? 0;
  const to = Math.max(busy.at(-1)?.to ?? 0, from + 1);
  return { from, to, lanes, ...axis(busy, { from, to }) };
}

function lanesOf(bars: readonly TimelineBar[]): readonly TimelineLane[] {
  const found = new Map<string, TimelineBar[]>();
  for (const bar of [...bars].sort((a, b) => a.from - b.from)) {
    const { node, branch } = bar.execution;
    const key = branch === null ? `node ${node}` : `branch ${branch}`;
    const lane = found.get(key);
    if (lane === undefined) found.set(key, [bar]);
    else lane.push(bar);
  }
  return [...found.values()].flatMap((own) => {
    const [first] = own;
    return first === undefined ? [] : [laneOf(first.execution, own)];
  });
}

/** A branch of one node looks like a node. */
function laneOf({ node, branch, label, type }: ExecutionRow, bars: readonly TimelineBar[]): TimelineLane {
  const isBranch = branch !== null && bars.some(({ execution }) => execution.node !== node);
  return isBranch ? { id: branch, label: branch, type: null, bars } : { id: node, label, type, bars };
}

function barOf(execution: ExecutionRow, now: number | undefined): TimelineBar {
  const { began_at, ended_at, took_ms, model_ms } = execution;
  const from = Date.parse(began_at);
  const to = Math.max(from, ended_at === null ? (now ?? from + took_ms) : Date.parse(ended_at));
  const attempts: TimeSpan[] = [];
  const waits: TimeSpan[] = [];
  let begin = from;
  for (const { at, ms } of execution.waits) {
    const end = Math.min(to, Math.max(begin, Date.parse(at)));
    attempts.push({ from: begin, to: end });
    begin = Math.min(to, end + ms);
    if (begin > end) waits.push({ from: end, to: begin });
  }
  attempts.push({ from: begin, to });
  const worked = lengthOf(attempts);
  return { execution, from, to, attempts, waits, model: worked === 0 ? 0 : Math.min(1, model_ms / worked) };
}

const lengthOf = (spans: readonly TimeSpan[]): number =>
  spans.reduce((sum, { from, to }) => sum + to - from, 0);

function joinedSpans(spans: readonly TimeSpan[]): readonly TimeSpan[] {
  const joined: TimeSpan[] = [];
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    const last = joined.at(-1);
    if (last !== undefined && from <= last.to)
      joined[joined.length - 1] = { from: last.from, to: Math.max(last.to, to) };
    else joined.push({ from, to });
  }
  return joined;
}

/** A pause (a suspended night) is cut if it is longer than a fifth of the time in which something ran, and than five seconds. It
 *  takes the room of a twenty-fourth of that time. */
function axis(busy: readonly TimeSpan[], { from, to }: TimeSpan): Pick<Timeline, 'pauses' | 'at' | 'timeAt'> {
  const worked = Math.max(1, lengthOf(busy));
  const pauses = busy
    .slice(1)
    .map((span, index) => ({ from: busy[index]?.to ?? span.from, to: span.from }))
    .filter((pause) => pause.to - pause.from > Math.max(5_000, worked / 5));
  const knots: [time: number, place: number][] = [[from, 0]];
  let place = 0;
  let time = from;
  const add = (until: number, width: number) => {
    place += width;
    time = until;
    knots.push([time, place]);
  };
  for (const pause of pauses) {
    add(pause.from, pause.from - time);
    add(pause.to, worked / 24);
  }
  add(to, to - time);
  return {
    pauses,
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

const [second, minute, hour] = [1000, 60_000, 3_600_000] as const;
const steps = [
  ...[100, 200, 500, second, 2 * second, 5 * second, 10 * second, 15 * second, 30 * second],
  ...[minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute],
  ...[hour, 2 * hour, 6 * hour, 12 * hour, 24 * hour],
];

/** Times for about `most` marks of the axis, in a part of it: multiples of a round step after the start, none in pauses. */
export function axisMarks(timeline: Timeline, most: number, part: TimeSpan = timeline): readonly number[] {
  const breaks = timeline.pauses.filter((pause) => pause.to > part.from && pause.from < part.to);
  const starts = [part.from, ...breaks.map((pause) => Math.min(part.to, pause.to))];
  const ends = [...breaks.map((pause) => Math.max(part.from, pause.from)), part.to];
  const busy = starts.map((from, at) => ({ from, to: ends[at] ?? from }));
  const least = lengthOf(busy) / most;
  const step = steps.find((one) => one >= least) ?? Math.ceil(least / (24 * hour)) * 24 * hour;
  return busy.flatMap(({ from, to }) => {
    const first = Math.ceil((from - timeline.from) / step);
    const last = Math.floor((to - timeline.from) / step);
    return Array.from(
      { length: Math.max(0, last - first + 1) },
      (_, at) => timeline.from + (first + at) * step,
    );
  });
}
