/** Rings when a file of a run changes. */
import type { Clock } from '../../core/contracts/clock.ts';
import { watchFolder } from '../../platform/files/watch.ts';

/** Milliseconds until the next look where changes are not noticed. */
const quickMs = 100;

export interface Bell {
  /** Settles at the next change, but not before `pause` milliseconds are over; at the latest `most` milliseconds after those. */
  wait(pause: number, most: number, signal?: AbortSignal): Promise<void>;
  /** As a change does. */
  ring(): void;
  close(): void;
}

export function openBell(dir: string, clock: Clock): Bell {
  let wake: (() => void) | undefined;
  let isRung = false;
  const ring = (): void => {
    isRung = true;
    wake?.();
  };
  const close = watchFolder(dir, ring);
  return {
    async wait(pause, most, signal) {
      await clock.sleep(pause, signal);
      if (!isRung) {
        const rung = new AbortController();
        wake = () => rung.abort();
        const over = signal === undefined ? rung.signal : AbortSignal.any([signal, rung.signal]);
        await clock.sleep(close === undefined ? Math.min(most, quickMs) : most, over);
        wake = undefined;
      }
      isRung = false;
    },
    ring,
    close: () => close?.(),
  };
}
