/** Signs of life of processes that cannot be seen from here: something about them that changes as long as they live. */
import type { Clock } from '../core/contracts/clock.ts';

/** A process out of sight is dead after this time without a sign. */
export const silenceMs = 60_000;

export interface Signs {
  /** Notes what `key` shows now. `live`: it has shown something else within `silenceMs`; `unknown`: it was first seen within that
   *  time, and has not changed since; `silent`: it has not changed for that long. Times are those of this process: clocks of
   *  hosts differ. */
  see(key: string, sign: string): 'live' | 'unknown' | 'silent';
}

export function watchSigns(clock: Clock): Signs {
  const seen = new Map<string, { sign: string; since: number; changed: boolean }>();
  return {
    see(key, sign) {
      const now = clock.monotonic();
      const before = seen.get(key);
      if (before === undefined || before.sign !== sign) {
        const changed = before !== undefined;
        seen.set(key, { sign, since: now, changed });
        return changed ? 'live' : 'unknown';
      }
      if (now - before.since >= silenceMs) return 'silent';
      return before.changed ? 'live' : 'unknown';
    },
  };
}
