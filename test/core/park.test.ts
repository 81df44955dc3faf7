/** What a failed call suspends a run for, and which edges are taken all the same. */
import { expect, test } from 'vitest';
import { failed, type Park } from '../../src/core/outcome.ts';
import { suspension } from '../../src/core/retry.ts';
import { route } from '../../src/core/routing.ts';
import { graphOf } from '../support/graph.ts';

const now = new Date('2026-01-01T00:00:00.000Z');

/** Whether the run waits after this failure where such an edge leaves the stage. */
function waits(park: Park, condition: string, retryAfterMs?: number) {
  const graph = graphOf(`a; b; a -> b [condition="${condition}"]`);
  const outcome = failed('no', 'infra', { park, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
  const infra = { failure_class: 'infra', 'context.failure_class': 'infra' };
  const says: Readonly<Record<string, string>> = { outcome: 'fail', ...infra, x: '1' };
  const way = route(graph, 'a', outcome, (key) => says[key] ?? '');
  expect(way.how).toBe('condition');
  return suspension(outcome, way, { node: 'a', now, before: undefined, max_windows: 8 });
}

test.for<[string, Park, string, boolean]>([
  ['a missing login', { kind: 'auth' }, 'outcome=fail', false],
  ['a missing login of a run that the node started', { kind: 'auth', within: true }, 'outcome=fail', true],
  ['the same', { kind: 'auth', within: true }, 'failure_class=infra', false],
  ['a quota', { kind: 'quota' }, 'outcome=fail', true],
  ['a quota', { kind: 'quota' }, 'failure_class=infra', false],
  ['a quota', { kind: 'quota' }, 'failure_class=infra && x=1', false],
  ['a quota', { kind: 'quota' }, 'x=1 && failure_class=infra', false],
  ['a quota', { kind: 'quota' }, 'x=1 && outcome=fail', true],
  ['a quota', { kind: 'quota' }, 'failure_class!=product', false],
  ['a quota', { kind: 'quota' }, 'failure_class=transient_infra', true],
  ['an outage', { kind: 'outage' }, 'outcome=fail && context.failure_class=transient_infra', true],
  ['an outage', { kind: 'outage' }, 'failure_class!=deterministic', true],
  ['a cap per day', { kind: 'cap' }, 'failure_class=infra', true],
])('%s %o suspends although there is an edge for %s: %s', ([, park, condition, is]) => {
  expect(waits(park, condition) !== undefined).toBe(is);
});

test('a cap per day suspends until the start of the next day, to the millisecond', () => {
  const wakeAtMs = Date.parse('2026-01-01T23:00:00.000Z');
  expect(waits({ kind: 'cap', wakeAtMs }, 'outcome=fail', 1)).toMatchObject({
    status: 'paused_cap',
    wake_at: '2026-01-01T23:00:00.000Z',
  });
});

test('no wait is longer than a year, whatever a server says', () => {
  expect(waits({ kind: 'quota' }, 'outcome=fail', 1e15)?.wake_at).toBe('2027-01-01T00:00:00.000Z');
});
