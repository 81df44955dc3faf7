import { expect, test } from 'vitest';
import { dueTime } from '../../src/core/due-time.ts';

const now = new Date('2026-03-01T12:00:00Z');

test.for([
  ['8h', '2026-03-01T20:00:00.000Z'],
  ['90s', '2026-03-01T12:01:30.000Z'],
  ['2026-03-01T22:00:00Z', '2026-03-01T22:00:00.000Z'],
  ['2026-03-01 22:00:00+02:00', '2026-03-01T20:00:00.000Z'],
  ['2028-02-29T00:00:00Z', 'more than a year away'],
  ['2026-03-01T11:59:59Z', 'has passed: it is 2026-03-01T12:00:00.000Z'],
  ['0s', 'has passed'],
  ['2026-02-30T10:00:00Z', 'never comes: there is no such time'],
  ['2026-13-01T10:00:00Z', 'never comes'],
  ['2026-03-02T24:30:00Z', 'never comes'],
  ['2026-03-02T10:00:00+99:00', 'never comes'],
  ['25:00', 'never comes: a day has 24 hours'],
  ['10:75', 'never comes'],
  ['2026-03-02', 'is no time'],
  ['2026-03-02T10:00', 'is no time'],
  ['tonight', 'is no time'],
] as const)('%s is %s', ([text, expected]) => {
  const due = dueTime(text, now);
  expect('at' in due ? due.at.toISOString() : due.problem).toContain(expected);
});

test('a time of day is the next one of the local clock', () => {
  const local = new Date(2026, 5, 10, 12, 30);
  const at = (text: string) => {
    const due = dueTime(text, local);
    return 'at' in due ? due.at : undefined;
  };
  expect(at('22:00')).toEqual(new Date(2026, 5, 10, 22));
  expect(at('12:30')).toEqual(new Date(2026, 5, 11, 12, 30));
  expect(at('9:05')).toEqual(new Date(2026, 5, 11, 9, 5));
});
