/** When a parked run goes on. */
import type { Parked } from '../model/park.ts';
import type { Clock } from '../system/clock.ts';

/** The clocks of two machines differ by less than that. */
const skewMs = 60_000;

/** Answers each time with the milliseconds that are left until a parked run can go on; 0 where it can. While it is asked, a
 *  clock that is set back makes no wait longer; and of a run that has parked in the future nobody knows how long it has
 *  waited, so that it tries. */
export function alarmBy(clock: Clock): (parked: Parked) => number {
  let set: { readonly wakeAt: string; readonly goesOff: number } | undefined;
  return ({ wake_at: wakeAt, since }) => {
    const now = clock.now().getTime();
    if (wakeAt === null || Date.parse(since) - now > skewMs) return 0;
    const byDate = Math.max(0, Date.parse(wakeAt) - now) || 0;
    if (set?.wakeAt !== wakeAt) set = { wakeAt, goesOff: clock.monotonic() + byDate };
    return Math.max(0, Math.min(byDate, set.goesOff - clock.monotonic()));
  };
}
