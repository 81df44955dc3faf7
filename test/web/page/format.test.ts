import { expect, test } from 'vitest';
import { agoText, durationText, tokensText } from '../../../src/web/page/text/format.ts';

test.for([
  [0, '0 s'],
  [600, '0.6 s'],
  [9_940, '9.9 s'],
  [9_960, '10 s'],
  [59_400, '59 s'],
  [134_000, '2m 14s'],
  [3_599_900, '1h 00m'],
  [3_900_000, '1h 05m'],
  [183_600_000, '2d 3h'],
] as const)('%i ms are shown as %s', ([ms, shown]) => {
  expect(durationText(ms)).toBe(shown);
});

test('tokens are shortened', () => {
  expect([812, 12_400, 999_960, null].map(tokensText)).toEqual(['812', '12.4k', '1M', 'unknown']);
});

test('times are relative to now, before and after', () => {
  const now = Date.parse('2026-11-26T12:00:00Z');
  const shown = (time: string) => agoText(time, now);
  expect(shown('2026-11-26T11:57:00Z')).toBe('3 min ago');
  expect(shown('2026-11-26T12:05:30Z')).toBe('in 5 min');
  expect(shown('2026-11-24T12:00:00Z')).toBe('2 days ago');
  expect(shown('2026-11-26T11:59:58Z')).toBe('just now');
  expect(shown('')).toBe('');
});
