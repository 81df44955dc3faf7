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

export const realClock: Clock = {
  now: () => new Date(),
  monotonic: monotonicMs,
  async sleep(ms, signal) {
    await wait(ms, undefined, signal === undefined ? {} : { signal }).catch(() => {});
  },
};

/** Milliseconds since the machine started, the same for all its processes; stands still while it sleeps and knows
 *  nothing of a wall clock that is set. */
export const uptimeMs = (): number => Number(process.hrtime.bigint() / 1_000_000n);
