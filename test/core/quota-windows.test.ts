/** How often a run continues at the resets of a quota. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { failed, type Park, type SuspendedRun } from '../../src/core/outcome.ts';
import { hasSpentWindows, raisedWindows } from '../../src/core/quota-windows.ts';
import { suspension } from '../../src/core/retry.ts';

const minute = 60_000;
const start = Date.parse('2026-01-01T00:00:00.000Z');

/** The suspension by a quota whose reset is `resetMs` from now, of a run that was suspended `before`. */
function next(
  before: SuspendedRun | undefined,
  at: number,
  { park, max_windows = 8 }: { readonly park: Park; readonly max_windows?: number },
): SuspendedRun {
  const wait = park.wakeAtMs === undefined ? undefined : park.wakeAtMs - at;
  const outcome = failed('used up', 'infra', { park, ...(wait === undefined ? {} : { retryAfterMs: wait }) });
  const parked = suspension(outcome, undefined, { node: 'a', now: new Date(at), before, max_windows });
  if (parked === undefined) throw new Error('a quota suspends');
  return parked;
}
const quota = (wakeAtMs: number): Park => ({ kind: 'quota', wakeAtMs });
const suspended = (more: Partial<SuspendedRun>): SuspendedRun => ({
  ...{ status: 'paused_quota', node: 'a', reason: '', since: new Date(start).toISOString() },
  wake_at: new Date(start + 10 * minute).toISOString(),
  ...more,
});

const later = start + 10 * minute;
test.for<[string, SuspendedRun | undefined, number, Park, number | undefined]>([
  ['the first limit', undefined, start, quota(later), undefined],
  ['a limit after the reset', suspended({}), later, quota(later + minute), 1],
  ['the same after more of them', suspended({ windows: 3 }), later, quota(later + minute), 4],
  ['a resume before the time', suspended({ windows: 3 }), start, quota(later), 3],
  [
    'a resume by hand of a run without a time',
    suspended({ wake_at: null, windows: 8 }),
    later,
    quota(later),
    8,
  ],
  ['a limit without a time', suspended({ windows: 3 }), later, { kind: 'quota', unsaid: true }, 3],
  ['a nested run that waits', suspended({ windows: 3 }), later, { ...quota(later), within: true }, 3],
  ['an outage', suspended({ windows: 3 }), later, { kind: 'outage' }, 3],
  ['a limit after an outage', suspended({ status: 'paused_outage', windows: 3 }), later, quota(later), 3],
])('%s counts as it should', ([, before, at, park, windows]) => {
  expect(next(before, at, { park, max_windows: 20 }).windows).toBe(windows);
});

test('after as many resets as max_windows the run is suspended without a time, and says how it continues', () => {
  let parked: SuspendedRun | undefined;
  let at = start;
  const times: (string | null)[] = [];
  for (let window = 0; window <= 3; window++) {
    parked = next(parked, at, { park: quota(at + 60 * minute), max_windows: 3 });
    times.push(parked.wake_at);
    at += 60 * minute;
  }
  expect(times.map((time) => time !== null)).toEqual([true, true, true, false]);
  expect(parked).toMatchObject({ status: 'paused_quota', windows: 3 });
  expect(parked?.reason).toBe(
    'max_windows: the run was resumed at 3 resets of the quota and finished no node, and its limit is 3 (--max-windows); used up',
  );
  expect(raisedWindows(`a: ${parked?.reason}`)).toBe('--max-windows 6');
  expect(parked && [3, 4].map((most) => hasSpentWindows(parked as SuspendedRun, most))).toEqual([
    true,
    false,
  ]);
  // By hand with a higher limit it waits for the reset, and continues there once more.
  const raised = next(parked, at, { park: quota(at + 60 * minute), max_windows: 4 });
  expect(raised).toMatchObject({ windows: 3, wake_at: new Date(at + 60 * minute).toISOString() });
  expect(
    next(raised, at + 60 * minute, { park: quota(at + 90 * minute), max_windows: 4 }).wake_at,
  ).toBeNull();
});

test('however often an engine is killed between two suspensions, each reset counts once', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 12 }), (kills) => {
      let parked = next(undefined, start, { park: quota(start + 60 * minute) });
      let at = start;
      for (const [n, killed] of kills.entries()) {
        at += 60 * minute;
        // What a killed engine decided is lost: the next one begins with the same suspension.
        const lost = Array.from({ length: killed }, () =>
          next(parked, at, { park: quota(at + 60 * minute) }),
        );
        parked = next(parked, at + killed * 1000, { park: quota(at + 60 * minute), max_windows: 100 });
        expect(parked.windows).toBe(n + 1);
        expect(lost.every(({ windows }) => windows === n + 1)).toBe(true);
      }
    }),
  );
});

test('a nested run that needs a person suspends the one above without a time', () => {
  const parked = next(undefined, start, { park: { kind: 'quota', within: true, untimed: true } });
  expect(parked).toMatchObject({ status: 'paused_quota', wake_at: null });
  expect(hasSpentWindows(parked, 1)).toBe(false);
});
