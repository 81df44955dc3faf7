/** The only module that reads a clock or waits. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock, Every } from '../core/contracts/clock.ts';

/** Milliseconds that never run backwards, for durations. Uses `hrtime`: loading `performance` costs time. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Node's timers fire immediately when the delay is longer than this (24.8 days). */
const longestTimer = 2 ** 31 - 1;

/** Calls `act` after `ms` milliseconds (any number), unless the returned function is called before. */
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
    // Newer versions of Node print a warning for a negative delay.
    const left = () => Math.max(0, Math.min(until - monotonicMs(), longestTimer));
    do await wait(left(), undefined, options).catch(() => {});
    while (monotonicMs() < until && signal?.aborted !== true);
  },
};

/** A timer that fires later than this shows that the process was stopped (Ctrl-Z) or busy. */
const oversleptMs = 1000;

/** True after `ms` milliseconds of silence, false when `over` fires first. `heardAt` returns the monotonic time of
 *  the last sign of life. Time in which this process was stopped does not count: after it continues, its timers
 *  fire before it reads what arrived meanwhile. In a process that is always busy, whose timers are always late,
 *  silence is reported after twice the time. */
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

/** The only module that repeats work in the background. */
export const realEvery: Every = (ms, work) => {
  const timer = setInterval(work, ms);
  timer.unref();
  return () => clearInterval(timer);
};
