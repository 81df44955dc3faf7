import { expect, test } from 'vitest';
import { reservedKeyIn } from '../../../src/core/policy/reserved-keys.ts';

test.for([
  ...'internal internal.retry_count.a last_failure last_failure.summary graph graph.goal'.split(' '),
  ...'outcome current_node'.split(' '),
])('%s is the engine’s own', (key) => {
  expect(reservedKeyIn({ fine: 1, [key]: null })).toBe(key);
});

test.for([
  'outcomes',
  'my.outcome',
  'internals.x',
  'verification.plan',
  'graphics',
  'last_failures.x',
  '',
  'Outcome',
])('"%s" may be set', (key) => {
  expect(reservedKeyIn({ [key]: 1 })).toBeUndefined();
});

test('the first reserved key is returned', () => {
  expect(reservedKeyIn({ a: 1, 'graph.goal': 2, outcome: 3 })).toBe('graph.goal');
  expect(reservedKeyIn({})).toBeUndefined();
});
