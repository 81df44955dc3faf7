/** The time from which a job may run, as people write it. Pure; local times are those of the process. */
import { duration } from './settings/types.ts';

export type DueTime = { readonly at: Date } | { readonly problem: string; readonly fix: string };

/** A later one is a slip of the pen. */
const longestMs = 366 * 24 * 3_600_000;

const dateTime = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?([Zz]|[+-]\d\d:\d\d)$/;
const timeOfDay = /^(\d\d?):(\d\d)$/;

/** Reads an RFC 3339 time, `22:00` (the next one, in local time) or a duration from now such as `8h`. */
export function dueTime(text: string, now: Date): DueTime {
  const word = text.trim();
  const read = dateTime.test(word)
    ? fromDate(word)
    : timeOfDay.test(word)
      ? nextTimeOfDay(word, now)
      : afterDuration(word, now);
  if ('problem' in read) return read;
  const ahead = read.at.getTime() - now.getTime();
  if (ahead <= 0)
    return {
      problem: `${word} has passed: it is ${now.toISOString()}`,
      fix: 'name a time to come, or leave it out',
    };
  if (ahead > longestMs) return { problem: `${word} is more than a year away`, fix: 'name an earlier time' };
  return read;
}

const forms = 'write 2026-03-01T22:00:00Z, 22:00 or 8h';

function fromDate(word: string): DueTime {
  const [, year, month, day, hour, minute, second = '00'] = dateTime.exec(word) ?? [];
  const [y = 0, m = 0, d = 0, h = 0, min = 0, s = 0] = [year, month, day, hour, minute, second].map(Number);
  const date = new Date(Date.UTC(y, m - 1, d, h, min, s));
  const at = new Date(word.replace(' ', 'T'));
  // What does not exist, such as February 30, becomes another day.
  const exists = date.getUTCMonth() === m - 1 && date.getUTCDate() === d && date.getUTCHours() === h;
  if (!exists || Number.isNaN(at.getTime()))
    return { problem: `${word} never comes: there is no such time`, fix: forms };
  return { at };
}

/** The next moment from which the local clock shows that time or a later one: where clocks are set forward over it, that is the
 *  moment of the change. */
function nextTimeOfDay(word: string, now: Date): DueTime {
  const [, hour = '', minute = ''] = timeOfDay.exec(word) ?? [];
  const [h, min] = [Number(hour), Number(minute)];
  if (h > 23 || min > 59) return { problem: `${word} never comes: a day has 24 hours`, fix: forms };
  for (const days of [0, 1]) {
    const at = localTimeOn(now, days, h, min);
    if (at.getTime() > now.getTime()) return { at };
  }
  return { at: localTimeOn(now, 2, h, min) };
}

function localTimeOn(now: Date, days: number, hour: number, minute: number): Date {
  const at = new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, hour, minute);
  const shows = (date: Date): number => date.getHours() * 60 + date.getMinutes();
  // A time that is left out is read as one that is later by as much.
  const isLater = (date: Date): boolean =>
    date.getDate() === at.getDate() && shows(date) >= hour * 60 + minute;
  if (shows(at) === hour * 60 + minute) return at;
  let first = at;
  for (let before = minuteBefore(first); isLater(before); before = minuteBefore(before)) first = before;
  return first;
}

const minuteBefore = (date: Date): Date => new Date(date.getTime() - 60_000);

function afterDuration(word: string, now: Date): DueTime {
  const read = duration().read({ kind: 'string', text: word });
  if (!read.ok) return { problem: `"${word}" is no time`, fix: forms };
  return { at: new Date(now.getTime() + read.value) };
}
