/** Waits in words, for terminals and the page. Pure. */
import { localSeconds } from '../../core/amounts.ts';
import type { ShownState } from './states.ts';
import type { Wait, WaitReason } from './wait.ts';

const reasons: Readonly<Record<WaitReason, string>> = {
  rate_limit: 'rate limited',
  retry: 'waiting for a retry',
  outage: 'provider down',
  time: 'waiting for a time',
  slot: 'waiting for a slot',
  answer: 'waiting for an answer',
  quota: 'quota used up',
  auth: 'key or login refused',
  billing: 'account needs billing',
  disk: 'disk full',
  cap: 'cap per day reached',
};

/** What comes at the end of a wait. */
const ends: Readonly<Partial<Record<WaitReason, string>>> = {
  ...{ rate_limit: 'next try', retry: 'next try', outage: 'next try' },
  answer: 'deadline',
};

/** Writes milliseconds. */
type LeftWords = (ms: number) => string;

/** `rate limited, attempt 2 of 5`. */
export function waitWords({ for: reason, attempt, of }: Pick<Wait, 'for' | 'attempt' | 'of'>): string {
  const tries =
    attempt === null || attempt < 2 ? '' : `, attempt ${attempt}${of === null ? '' : ` of ${of}`}`;
  return `${reasons[reason]}${tries}`;
}

/** `next try in 41 s`; `next try now` once the time has come, and empty where no time is known. */
export function nextTryIn({ for: reason, until }: Wait, now: number, words: LeftWords): string {
  if (until === null) return '';
  const left = leftOf(until, now);
  return `${ends[reason] ?? 'continues'} ${left === 0 ? 'now' : `in ${words(left)}`}`;
}

/** The same with the time: `next try at 14:05:07`. */
export const nextTryAt = ({ for: reason, until }: Wait): string =>
  until === null ? '' : `${ends[reason] ?? 'continues'} at ${localSeconds(new Date(until))}`;

/** `rate limited, attempt 2 of 5, next try in 41 s: 429 Too Many Requests`; `next`: as `nextTryIn` or `nextTryAt` writes it. */
export const waitLine = (wait: Wait, next: string): string =>
  [[waitWords(wait), next].filter((one) => one !== '').join(', '), wait.cause]
    .filter((one) => one !== '')
    .join(': ');

/** Milliseconds until a time, whole seconds: a countdown ends with 1 s, not with 0 s. */
export const leftOf = (until: string, now: number): number =>
  Math.max(0, Math.ceil((Date.parse(until) - now) / 1000)) * 1000;

/** `41s`, `2m05s`, `1h05m`. */
export const secondsWords = (ms: number): string => {
  const seconds = Math.ceil(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const two = (value: number): string => String(value).padStart(2, '0');
  if (minutes === 0) return `${seconds}s`;
  return minutes < 60
    ? `${minutes}m${two(seconds % 60)}s`
    : `${Math.floor(minutes / 60)}h${two(minutes % 60)}m`;
};

/** The state that people are shown: one that runs and waits is a waiting one. */
export const stateOrWait = <S extends ShownState>(state: S, waiting: Wait | null | undefined): S | 'waits' =>
  waiting != null && (state === 'running' || state === 'waiting') ? 'waits' : state;
