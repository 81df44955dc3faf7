/** The time of a run for the page and the pictures: a lane for each node, a bar for each execution, and an axis on which long
 *  pauses are short. Pure. */
import type { ExecutionRow } from './execution-shapes.ts';

/** Milliseconds since the epoch. */
export type TimeSpan = { readonly from: number; readonly to: number };

export type TimelineBar = TimeSpan & {
  readonly execution: ExecutionRow;
  /** Its work, between the waits. */
  readonly attempts: readonly TimeSpan[];
  /** Between and within its attempts, and while it was suspended. */
  readonly waits: readonly TimeSpan[];
  /** Those in which it was suspended: no process worked at it. */
  readonly suspended: readonly TimeSpan[];
  /** The share of model calls in the time of its work, 0 to 1: only their sum is known. */
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
  const from = bars.reduce((first, bar) => Math.min(first, bar.from), bars[0]?.from ?? 0);
  const to = bars.reduce((last, bar) => Math.max(last, bar.to), from + 1);
  const busy = joinedSpans([...bars.flatMap(busyIn), { from: to, to }]);
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
  const pauses = pausesOf(execution, now);
  const suspended = pauses.filter(isSuspension);
  const end = ended_at === null ? (now ?? from + took_ms) : Date.parse(ended_at);
  const to = Math.max(from, end, suspended.at(-1)?.to ?? from);
  const waits = joinedSpans([...execution.waits.map(spanOf), ...pauses])
    .map((wait) => ({ from: Math.max(from, wait.from), to: Math.min(to, wait.to) }))
    .filter((wait) => wait.to > wait.from);
  const attempts = between([from, to], waits);
  const worked = lengthOf(attempts);
  const called = model_ms - lengthOf(pauses.filter(isWithinCall));
  const model = worked === 0 ? 0 : Math.min(1, Math.max(0, called) / worked);
  return { execution, from, to, attempts, waits, suspended, model };
}

type Pause = TimeSpan & Pick<ExecutionRow['pauses'][number], 'for' | 'suspended'>;

/** The last one of a suspended execution lasts until now. */
function pausesOf({ pauses, state, waiting }: ExecutionRow, now = 0): readonly Pause[] {
  const isOpen = (at: number): boolean =>
    state === 'suspended' && waiting != null && at === pauses.length - 1;
  return pauses.map((pause, at) => {
    const { from, to } = spanOf(pause);
    return { ...pause, from, to: pause.suspended && isOpen(at) ? Math.max(to, now) : to };
  });
}

const spanOf = ({ at, ms }: ExecutionRow['waits'][number]): TimeSpan => ({
  from: Date.parse(at),
  to: Date.parse(at) + ms,
});

const isSuspension = ({ suspended }: Pause): boolean => suspended;
const isWithinCall = ({ suspended, for: reason }: Pause): boolean => !suspended && reason !== 'time';

/** What is left of a time without these spans, which are in order. */
function between([from, to]: readonly [number, number], spans: readonly TimeSpan[]): readonly TimeSpan[] {
  const begins = [from, ...spans.map((span) => span.to)];
  const ends = [...spans.map((span) => span.from), to];
  return begins.map((begin, at) => ({ from: begin, to: Math.max(begin, ends[at] ?? begin) }));
}

/** The spans of a bar without those in which it was suspended. */
const busyIn = ({ from, to, suspended }: TimelineBar): readonly TimeSpan[] => between([from, to], suspended);

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
    at: (sought) => interpolated(knots, sought, 0) / place,
    timeAt: (sought) => interpolated(knots, sought * place, 1),
  };
}

/** Linear between the two knots around a value of column `by`; the value of the other column. */
function interpolated(knots: readonly (readonly [number, number])[], value: number, by: 0 | 1): number {
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
