import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dayAt, zonedWords, zoneNamed } from '../../src/core/days.ts';

const hours = 3_600_000;

test.for<[string, string, string, string, number]>([
  ['UTC', '2026-03-01T12:00:00Z', '2026-03-01', '2026-03-01T00:00:00.000Z', 24],
  ['Europe/Berlin', '2026-07-01T23:30:00Z', '2026-07-02', '2026-07-01T22:00:00.000Z', 24],
  // Clocks go from 02:00 to 03:00, and from 03:00 to 02:00.
  ['Europe/Berlin', '2026-03-29T00:59:59.999Z', '2026-03-29', '2026-03-28T23:00:00.000Z', 23],
  ['Europe/Berlin', '2026-10-25T00:30:00Z', '2026-10-25', '2026-10-24T22:00:00.000Z', 25],
  ['Asia/Kolkata', '2026-03-01T18:29:59.999Z', '2026-03-01', '2026-02-28T18:30:00.000Z', 24],
  // The day begins at 01:00.
  ['America/Sao_Paulo', '2018-11-04T12:00:00Z', '2018-11-04', '2018-11-04T03:00:00.000Z', 23],
  // Clocks go from 24:00 back to 23:00: it is that date twice.
  ['America/Sao_Paulo', '2018-02-18T02:30:00Z', '2018-02-17', '2018-02-17T02:00:00.000Z', 25],
  // After the 29th comes the 31st.
  ['Pacific/Apia', '2011-12-30T09:59:00Z', '2011-12-29', '2011-12-29T10:00:00.000Z', 24],
])('in %s the day of %s is %s, begins at %s and has %i hours', ([zone, at, name, start, length]) => {
  const day = dayAt(new Date(at), zone);
  expect([day.name, new Date(day.start).toISOString()]).toEqual([name, start]);
  expect((day.end - day.start) / hours).toBe(length);
});

test('days follow one another without a gap in every zone', () => {
  const zones = [
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Pacific/Auckland',
    'Africa/Cairo',
    'Asia/Kolkata',
  ];
  const at = fc.integer({ min: Date.parse('2023-01-01'), max: Date.parse('2029-01-01') });
  fc.assert(
    fc.property(fc.constantFrom(...zones), at, (zone, ms) => {
      const day = dayAt(new Date(ms), zone);
      expect(day.start <= ms && ms < day.end).toBe(true);
      const next = dayAt(new Date(day.end), zone);
      expect(next.start).toBe(day.end);
      expect(next.name > day.name).toBe(true);
      expect(dayAt(new Date(day.end - 1), zone)).toEqual(day);
    }),
    { numRuns: 60 },
  );
});

test('a time zone has one name, however it is written', () => {
  expect(['europe/berlin', 'UTC', 'Mars/Olympus', ''].map(zoneNamed)).toEqual([
    'Europe/Berlin',
    'UTC',
    undefined,
    undefined,
  ]);
  expect(zonedWords(new Date('2026-03-29T22:00:00Z'), 'Europe/Berlin')).toBe(
    '2026-03-30 00:00 (Europe/Berlin)',
  );
});
