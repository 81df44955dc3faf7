/** The times of schedules: what they are on the nights on which clocks change, and what is refused. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CronTimes, cronTimes, neverComes } from '../../src/fleet/cron.ts';

const timesOf = (cron: string, zone: string): CronTimes => {
  const times = cronTimes(cron, zone);
  if ('problem' in times) throw new Error(times.problem.message);
  return times;
};

function after(cron: string, zone: string, from: string, count: number): string[] {
  const { next } = timesOf(cron, zone);
  const found: string[] = [];
  for (let at = next(new Date(from)); at !== undefined && found.length < count; at = next(at))
    found.push(at.toISOString().slice(0, 16));
  return found;
}

test.for([
  [
    '02:30 comes at 03:00 where it is left out',
    '30 2 * * *',
    'Europe/Berlin',
    '2026-03-28T12:00Z',
    ['2026-03-29T01:00', '2026-03-30T00:30'],
  ],
  [
    'and so it does in another zone',
    '30 2 * * *',
    'America/New_York',
    '2026-03-07T12:00Z',
    ['2026-03-08T07:00', '2026-03-09T06:30'],
  ],
  [
    'one of two times a day comes there too',
    '30 2,14 * * *',
    'Europe/Berlin',
    '2026-03-28T20:00Z',
    ['2026-03-29T01:00', '2026-03-29T12:30'],
  ],
  [
    'of an hour that is repeated the first counts',
    '30 2 * * *',
    'Europe/Berlin',
    '2026-10-24T12:00Z',
    ['2026-10-25T00:30', '2026-10-26T01:30'],
  ],
  [
    'and so it does in another zone',
    '30 1 * * *',
    'America/New_York',
    '2026-10-31T12:00Z',
    ['2026-11-01T05:30', '2026-11-02T06:30'],
  ],
  [
    'each half hour is each of them',
    '*/30 * * * *',
    'Europe/Berlin',
    '2026-10-25T00:10Z',
    ['2026-10-25T00:30', '2026-10-25T01:00', '2026-10-25T01:30'],
  ],
  [
    '@daily is midnight in its zone',
    '@daily',
    'Asia/Tokyo',
    '2026-01-01T00:00Z',
    ['2026-01-01T15:00', '2026-01-02T15:00'],
  ],
  [
    'the last day of a month has a letter',
    '0 0 L 2 *',
    'UTC',
    '2026-01-01T00:00Z',
    ['2026-02-28T00:00', '2027-02-28T00:00'],
  ],
] as const)('%s: %s in %s', ([, cron, zone, from, times]) => {
  expect(after(cron, zone, from, times.length)).toEqual(times);
});

// From which moment one asks makes no difference: a worker that begins in the repeated hour finds no time again.
test('the next time after any moment of a night of changed clocks is one of the same times', () => {
  const hour = 3_600_000;
  const nights = [
    ['Europe/Berlin', '2026-03-28T23:00Z'],
    ['Europe/Berlin', '2026-10-24T22:00Z'],
    ['America/New_York', '2026-03-08T05:00Z'],
    ['America/New_York', '2026-11-01T04:00Z'],
  ] as const;
  const crons = [
    '30 2 * * *',
    '30 1 * * *',
    '0 3 * * *',
    '30 2,14 * * *',
    '0 2-4 * * *',
    '*/30 * * * *',
    '15 * * * *',
  ];
  fc.assert(
    fc.property(
      fc.constantFrom(...nights),
      fc.constantFrom(...crons),
      fc.integer({ min: 0, max: 8 * hour }),
      ([zone, from], cron, ms) => {
        const { next } = timesOf(cron, zone);
        const begin = Date.parse(from);
        let time = next(new Date(begin - 1));
        while (time !== undefined && time.getTime() <= begin + ms) time = next(time);
        expect(next(new Date(begin + ms))).toEqual(time);
      },
    ),
    { numRuns: 300 },
  );
});

test.for([
  ['* * * *', 'UTC', /"\* \* \* \*": 4 fields, and it takes 5/],
  ['', 'UTC', /0 fields/],
  ['0', 'UTC', /one field, and/],
  ['0 0 2 * * *', 'UTC', /6 fields, and/],
  ['0 25 * * *', 'UTC', /"0 25 \* \* \*": invalid value for hour: 25$/],
  ['0 2 * * 8', 'UTC', /invalid value for weekday: 8/],
  ['0/5 * * * *', 'UTC', /stepping with numeric prefix/],
  ['@reboot', 'UTC', /one field/],
  ['0 2 * * *', 'Berlin', /"Berlin" is not a time zone/],
] as const)('%s in %s is refused', ([cron, zone, why]) => {
  const read = cronTimes(cron, zone);
  expect('problem' in read && read.problem.message).toMatch(why);
  expect('problem' in read && read.problem.fix).toMatch(
    zone === 'Berlin' ? /Europe\/Berlin/ : /MINUTE HOUR DAY/,
  );
});

test('times that never come are refused', () => {
  const now = new Date('2026-01-01T00:00Z');
  expect(neverComes('0 0 30 2 *', timesOf('0 0 30 2 *', 'UTC'), now)?.message).toContain(
    '"0 0 30 2 *" never come',
  );
  expect(neverComes('0 0 29 2 *', timesOf('0 0 29 2 *', 'UTC'), now)).toBeUndefined();
});
