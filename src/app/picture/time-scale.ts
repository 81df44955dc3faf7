/** Where times are on a timeline: a line from left to right on which long pauses are cut short. */

/** Milliseconds since the epoch. */
export type TimeSpan = { readonly from: number; readonly to: number };

export interface TimeScale {
  readonly from: number;
  readonly to: number;
  /** The points of a time from the left. */
  x(time: number): number;
  /** The pauses that are cut short. */
  readonly cuts: readonly TimeSpan[];
}

/** Points that a cut pause takes. */
const cutWidth = 34;

/** A scale of `width` points over `spans`. A pause is cut if it is longer than a quarter of the time of all spans, and than ten
 *  seconds. */
export function timeScale(spans: readonly TimeSpan[], width: number): TimeScale {
  const joined = joinedSpans(spans);
  const [first] = joined;
  const from = first?.from ?? 0;
  const to = Math.max(joined.at(-1)?.to ?? 0, from + 1);
  const busy = joined.reduce((sum, span) => sum + span.to - span.from, 0);
  const longest = Math.max(busy / 4, 10_000);
  const cuts = joined.flatMap((span, at) => {
    const next = joined[at + 1];
    return next !== undefined && next.from - span.to > longest ? [{ from: span.to, to: next.from }] : [];
  });
  const shown = to - from - cuts.reduce((sum, cut) => sum + cut.to - cut.from, 0);
  const perMs = Math.max(width - cuts.length * cutWidth, width / 2) / shown;
  const x = (time: number): number => {
    let at = (time - from) * perMs;
    for (const cut of cuts) {
      const inside = Math.min(Math.max(time - cut.from, 0), cut.to - cut.from);
      at += inside * (cutWidth / (cut.to - cut.from) - perMs);
    }
    return at;
  };
  return { from, to, x, cuts };
}

function joinedSpans(spans: readonly TimeSpan[]): readonly TimeSpan[] {
  const joined: TimeSpan[] = [];
  for (const span of [...spans].sort((a, b) => a.from - b.from)) {
    const last = joined.at(-1);
    if (last !== undefined && span.from <= last.to)
      joined[joined.length - 1] = { from: last.from, to: Math.max(last.to, span.to) };
    else joined.push(span);
  }
  return joined;
}

const [second, minute, hour] = [1000, 60_000, 3_600_000] as const;
const steps = [
  ...[100, 200, 500, second, 2 * second, 5 * second, 10 * second, 15 * second, 30 * second],
  ...[minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute],
  ...[hour, 2 * hour, 6 * hour, 12 * hour, 24 * hour],
];

/** Times for the marks of the axis, at least `apart` points from each other, with their words: how long after the start. */
export function ticks(
  scale: TimeScale,
  apart: number,
): readonly { readonly x: number; readonly words: string }[] {
  const { from, to, cuts } = scale;
  const shown = to - from - cuts.reduce((sum, cut) => sum + cut.to - cut.from, 0);
  const least = shown / Math.max(1, Math.floor((scale.x(to) - cuts.length * cutWidth) / apart));
  const step = steps.find((one) => one >= least) ?? Math.ceil(least / (24 * hour)) * 24 * hour;
  const found: { x: number; words: string }[] = [];
  for (let after = 0; from + after <= to; after += step) {
    const time = from + after;
    const cut = cuts.find((one) => time > one.from && time < one.to);
    // The marks within a pause would lie on each other.
    if (cut !== undefined) after = Math.floor((cut.to - from) / step) * step;
    else if (!isNearCut(scale, time, apart / 2) && scale.x(time) - (found.at(-1)?.x ?? -apart) >= apart * 0.6)
      found.push({ x: scale.x(time), words: tickWords(after) });
  }
  return found;
}

/** Whether the words of a pause are within `points` of a time. */
const isNearCut = ({ x, cuts }: TimeScale, time: number, points: number): boolean =>
  cuts.some(({ from, to }) => Math.abs(x(time) - (x(from) + x(to)) / 2) < points);

/** `0`, `0.5s`, `15s`, `2m`, `1m30s`, `3h`, `3h05m`. */
function tickWords(ms: number): string {
  if (ms === 0) return '0';
  if (ms < minute) return `${Number((ms / second).toFixed(1))}s`;
  const whole = Math.round(ms / second);
  const [hours, minutes, seconds] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (value: number): string => String(value).padStart(2, '0');
  const after = seconds === 0 ? '' : `${two(seconds)}s`;
  if (hours === 0) return `${minutes}m${after}`;
  return minutes === 0 && seconds === 0 ? `${hours}h` : `${hours}h${two(minutes)}m${after}`;
}
