/** Which times of a schedule are to be submitted now. Pure. */
import type { MissedRule } from '../core/records/schedule.ts';
import type { CronTimes } from './cron.ts';

/** Milliseconds within which a time is submitted late; after that it is missed. */
export const lateMs = 60_000;

/** At most so many times that are late are submitted at once: those before are missed. */
const mostLate = 10;

export type DueTimes = {
  /** To be submitted, in their order. */
  readonly times: readonly Date[];
  /** Whether times have passed, be they submitted or not. */
  readonly passed: boolean;
  /** The first one after now; undefined where none comes. */
  readonly next: Date | undefined;
};

/** The times after `since`, up to now. Those that come late are submitted, and count for all that were missed before. `owed`: from this
 *  one on none is missed, since a worker was there. Of missed ones alone the first stands for all: each worker finds the same one. */
export function dueTimes(
  { next }: Pick<CronTimes, 'next'>,
  { since, now, owed }: { readonly since: Date; readonly now: Date; readonly owed?: Date | undefined },
  missed: MissedRule,
): DueTimes {
  const first = next(since);
  if (first === undefined || first > now) return { times: [], passed: false, next: first };
  const edge = Math.min(now.getTime() - lateMs, owed?.getTime() ?? Number.POSITIVE_INFINITY);
  const late: Date[] = [];
  let time: Date | undefined = first.getTime() >= edge ? first : next(new Date(edge - 1));
  while (time !== undefined && time <= now) {
    late.push(time);
    time = next(time);
  }
  const times = late.length > 0 ? late.slice(-mostLate) : missed === 'once' ? [first] : [];
  return { times, passed: true, next: time };
}
