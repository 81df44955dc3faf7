/** Times, durations and tokens as the page shows them. */
import { countedItems } from '../../../core/amounts.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Milliseconds as `0.6 s`, `13 s`, `2m 14s`, `1h 05m`, `2d 3h`. */
export function durationText(ms: number): string {
  const most = Math.max(0, ms);
  if (most < 9_950) return most < 50 ? '0 s' : `${(Math.round(most / 100) / 10).toFixed(1)} s`;
  const seconds = Math.round(most / second);
  if (seconds < 60) return `${seconds} s`;
  if (seconds * second < hour) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  const minutes = Math.round(most / minute);
  if (minutes * minute < day) return `${Math.floor(minutes / 60)}h ${two(minutes % 60)}m`;
  const hours = Math.round(most / hour);
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

/** The time that is left, in whole seconds: `41 s`. */
export const countdownText = (ms: number): string =>
  ms < 60 * second ? `${Math.ceil(ms / second)} s` : durationText(ms);

const two = (n: number): string => String(n).padStart(2, '0');

export { tokensText } from '../../../core/amounts.ts';

/** A time relative to now: `just now`, `3 min ago`, `in 5 min`; empty for an empty or invalid time. */
export function agoText(time: string, now: number): string {
  const at = Date.parse(time);
  if (Number.isNaN(at)) return '';
  const apart = Math.abs(now - at);
  if (apart < 10 * second) return 'just now';
  const size =
    apart < minute
      ? `${Math.floor(apart / second)} s`
      : apart < hour
        ? `${Math.floor(apart / minute)} min`
        : apart < day
          ? `${Math.floor(apart / hour)} h`
          : countedItems(Math.floor(apart / day), 'day');
  return at > now ? `in ${size}` : `${size} ago`;
}

/** A local time as `2026-11-26 22:06:19`. */
export function exactTime(time: string): string {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return '';
  const date = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join('-');
  return `${date} ${clockTime(time)}`;
}

/** A local time as `22:06:19`. */
export function clockTime(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime())
    ? ''
    : [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':');
}

/** The last parts of a path. */
export function pathEnd(path: string, parts: number): string {
  const all = path.split('/').filter(Boolean);
  return all.length <= parts ? path : all.slice(-parts).join('/');
}
