/** How long a suspended run still waits. */
import type { Parked } from '../model/park.ts';
import type { Clock } from '../system/clock.ts';

/** Upper bound of the difference between the clocks of two machines. */
const skewMs = 60_000;

/** Returns a function for the milliseconds until a suspended run resumes; 0 if it can resume. A clock that is set back between
 *  two calls does not lengthen the wait. A run that was suspended in the future, by a wrong clock, resumes at once. */
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

/** Returns a function that tells whether a wait of `leftMs` more would make an outage longer than `mostMs`. An outage begins
 *  with the first suspension for it that this process sees, and ends when a node finishes. */
export function outageClock(clock: Clock): (parked: Parked, leftMs: number, mostMs: number) => boolean {
  let began: { readonly since: string; readonly at: number } | undefined;
  return ({ since, again = 0 }, leftMs, mostMs) => {
    const now = clock.monotonic();
    if (began === undefined || (again === 0 && began.since !== since)) began = { since, at: now };
    return now - began.at + leftMs > mostMs;
  };
}
