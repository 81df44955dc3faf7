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

export const realClock: Clock = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    await wait(ms, undefined, signal === undefined ? {} : { signal }).catch(() => {});
  },
};
