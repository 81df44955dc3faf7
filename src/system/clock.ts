/** The door to time: nothing else reads a clock or waits. */
import { setTimeout as wait } from 'node:timers/promises';

export interface Clock {
  /** Wall-clock time, for records. */
  now(): Date;
  /** Milliseconds that never run backwards, for durations. */
  monotonic(): number;
  /** Settles after `ms` milliseconds, or at once when `signal` fires. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Milliseconds that never run backwards, for durations. `performance` would be loaded for this alone. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Node's timers go off at once when asked to wait longer than this (24.8 days). */
const longestTimer = 2 ** 31 - 1;

/** Calls `act` in `ms` milliseconds, however many these are, unless the answer is called before. */
export function after(ms: number, act: () => void): () => void {
  const until = monotonicMs() + ms;
  let timer: NodeJS.Timeout;
  const wake = (): void => {
    const left = until - monotonicMs();
    if (left <= 0) act();
    else timer = setTimeout(wake, Math.min(left, longestTimer));
  };
  timer = setTimeout(wake, Math.min(ms, longestTimer));
  return () => clearTimeout(timer);
}

export const realClock: Clock = {
  now: () => new Date(),
  monotonic: monotonicMs,
  async sleep(ms, signal) {
    const until = monotonicMs() + ms;
    const options = signal === undefined ? {} : { signal };
    // Newer Nodes print a warning for a time that has passed meanwhile.
    const left = () => Math.max(0, Math.min(until - monotonicMs(), longestTimer));
    do await wait(left(), undefined, options).catch(() => {});
    while (monotonicMs() < until && signal?.aborted !== true);
  },
};

/** Later than this after its time a timer tells that the process was stopped (Ctrl-Z) or busy. */
const oversleptMs = 1000;

/** True once nothing was heard for `ms` milliseconds, false when `over` fires first. `heardAt` tells when something was
 *  heard last, by the monotonic clock. Time in which this process slept does not count: what was said then it hears
 *  only after its timers have gone off. A process that is busy all the time is late each time; there, who says nothing is
 *  silent after twice that time. */
export async function silence(
  clock: Clock,
  heardAt: () => number,
  ms: number,
  over: AbortSignal,
): Promise<boolean> {
  let awake = Number.NEGATIVE_INFINITY;
  let forgiven: number | undefined;
  for (;;) {
    if (over.aborted) return false;
    const began = clock.monotonic();
    const left = Math.max(heardAt(), awake) + ms - began;
    if (left <= 0) return true;
    await clock.sleep(left, over);
    const now = clock.monotonic();
    if (now - began - left <= oversleptMs) continue;
    if (forgiven === heardAt()) await clock.sleep(Math.min(ms, oversleptMs), over);
    else awake = now;
    forgiven = heardAt();
  }
}
