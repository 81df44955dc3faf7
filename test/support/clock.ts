/** A clock that a test moves: short waits pass at once and are noted, long ones when the test advances it. */
import type { Clock } from '../../src/core/contracts/clock.ts';

export interface HandClock extends Clock {
  /** The waits that passed at once, in milliseconds. */
  readonly waits: readonly number[];
  /** Lets time pass for the waits that are still on. */
  advance(ms: number): void;
  /** Settles once `count` waits are on. */
  waiting(count: number): Promise<void>;
}

/** Waits of up to `instant` milliseconds pass at once (default a minute). */
export function handClock(instant = 60_000): HandClock {
  const waits: number[] = [];
  const on = new Set<{ until: number; wake: () => void }>();
  const lookers = new Set<() => void>();
  let now = 0;
  return {
    waits,
    now: () => new Date(Date.UTC(2026, 0, 1) + now),
    monotonic: () => now,
    sleep(ms, signal) {
      if (signal?.aborted === true) return Promise.resolve();
      if (ms <= instant) {
        waits.push(ms);
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        const wait = {
          until: now + ms,
          wake: () => {
            on.delete(wait);
            signal?.removeEventListener('abort', wait.wake);
            resolve();
          },
        };
        on.add(wait);
        signal?.addEventListener('abort', wait.wake, { once: true });
        for (const look of lookers) look();
      });
    },
    advance(ms) {
      now += ms;
      for (const wait of [...on]) if (wait.until <= now) wait.wake();
    },
    waiting: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (on.size < count) return;
          lookers.delete(look);
          resolve();
        };
        lookers.add(look);
        look();
      }),
  };
}
