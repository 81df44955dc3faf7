/** The waits for a provider that is down. */
import { expect, test } from 'vitest';
import { jittered, nextWait, noWaits, suspendedWait, type Waits } from '../../src/core/retry.ts';

/** All waits in seconds. */
function waits(mostMs: number): number[] {
  const all: number[] = [];
  let so: Waits = noWaits;
  for (let wait = nextWait(so, mostMs); wait !== undefined; wait = nextWait(so, mostMs)) {
    all.push(wait / 1000);
    so = { tries: so.tries + 1, waitedMs: so.waitedMs + wait };
  }
  return all;
}

test('waits double, never shrink, and take the given time together', () => {
  expect(waits(120_000)).toEqual([1, 2, 4, 8, 16, 32, 57]);
  expect(waits(4_000)).toEqual([1, 3]);
  expect(waits(500)).toEqual([0.5]);
  expect(waits(0)).toEqual([]);
});

test('a wait that the server asks for is kept, unless it is longer than what is left', () => {
  expect(nextWait(noWaits, 120_000, 7_000)).toBe(7_000);
  expect(nextWait({ tries: 3, waitedMs: 100_000 }, 120_000, 30_000)).toBeUndefined();
});

test('a suspended run waits one minute, two, four, then five', () => {
  expect([0, 1, 2, 3, 4, 1000].map((again) => suspendedWait(again) / 60_000)).toEqual([1, 2, 4, 5, 5, 5]);
});

test('chance takes up to a quarter of a wait, and the same part each time', () => {
  const all = Array.from({ length: 200 }, (_, n) => jittered(1000, `run ${n}`));
  expect(Math.min(...all)).toBeGreaterThanOrEqual(750);
  expect(Math.max(...all)).toBeLessThanOrEqual(1000);
  expect(new Set(all).size).toBeGreaterThan(50);
  expect(jittered(1000, 'run 7')).toBe(all[7]);
});
