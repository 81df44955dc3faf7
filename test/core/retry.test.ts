import { describe, expect, test } from 'vitest';
import { emptyReport, failed } from '../../src/core/outcome.ts';
import { nextAttempt, type RetryPolicy } from '../../src/core/retry.ts';
import { unknownStrength } from '../../src/scenarios/strength/tally.ts';

const policy = (more: Partial<RetryPolicy> = {}): RetryPolicy => ({
  maxRetries: undefined,
  delayMs: 500,
  backoff: 1,
  maxDelayMs: 60_000,
  onFail: false,
  allowPartial: false,
  isAgent: false,
  park_after: 120_000,
  ...more,
});
const again = { ...emptyReport, status: 'retry', reason: '' } as const;

describe('an outcome of retry', () => {
  test('is not repeated unless the node sets max_retries', () => {
    expect(nextAttempt(policy(), 1, again)).toMatchObject({
      again: false,
      outcome: { status: 'fail', reason: 'retry_exhausted' },
    });
  });
  test('is repeated max_retries times, 500 ms apart', () => {
    expect(nextAttempt(policy({ maxRetries: 2 }), 2, again)).toEqual({ again: true, delayMs: 500, of: 3 });
    expect(nextAttempt(policy({ maxRetries: 2 }), 3, again)).toMatchObject({ again: false });
  });
  test('backs off up to the longest delay', () => {
    const patient = policy({ maxRetries: 9, delayMs: 1000, backoff: 3, maxDelayMs: 5000 });
    expect([1, 2, 3].map((attempt) => nextAttempt(patient, attempt, again))).toEqual(
      [1000, 3000, 5000].map((delayMs) => ({ again: true, delayMs, of: 10 })),
    );
  });
  test('ends as partial success where that is allowed', () => {
    expect(nextAttempt(policy({ allowPartial: true }), 1, again)).toMatchObject({
      outcome: { status: 'partial_success' },
    });
  });
  test('keeps its own reason when it is exhausted', () => {
    expect(nextAttempt(policy(), 1, { ...again, reason: 'flaky' })).toMatchObject({
      outcome: { reason: 'flaky' },
    });
  });
});

test('a delay of nothing stays nothing, however often it is multiplied', () => {
  const eager = policy({ maxRetries: 9, delayMs: 0, backoff: 1e200, onFail: true });
  expect(nextAttempt(eager, 3, again)).toEqual({ again: true, delayMs: 0, of: 10 });
  expect(nextAttempt(eager, 3, failed('x', 'product'))).toEqual({ again: true, delayMs: 0, of: 10 });
});

describe('a failure', () => {
  test('is final by default', () => {
    expect(nextAttempt(policy({ maxRetries: 5 }), 1, failed('x', 'product'))).toMatchObject({ again: false });
  });
  test('is repeated with retry_on=fail', () => {
    expect(nextAttempt(policy({ maxRetries: 1, onFail: true }), 1, failed('x', 'product'))).toEqual({
      again: true,
      delayMs: 500,
      of: 2,
    });
  });
  test('of class infra is repeated as often as max_retries says', () => {
    expect(nextAttempt(policy({ maxRetries: 1 }), 1, failed('x', 'infra'))).toEqual({
      again: true,
      delayMs: 500,
      of: 2,
    });
    expect(nextAttempt(policy(), 1, failed('x', 'infra'))).toMatchObject({ again: false });
  });
  test('that needs a long wait or a fix first is not repeated', () => {
    const agent = policy({ isAgent: true });
    const quota = (retryAfterMs: number) =>
      failed('x', 'infra', { park: { kind: 'quota' as const }, retryAfterMs });
    expect(nextAttempt(agent, 1, quota(120_001))).toMatchObject({ again: false });
    expect(nextAttempt(agent, 1, quota(120_000))).toMatchObject({ again: true });
    const unpaid = failed('x', 'infra', { park: { kind: 'billing' as const } });
    expect(nextAttempt(agent, 1, unpaid)).toMatchObject({ again: false });
  });
  test('of class infra gets two retries with backoff in an agent node', () => {
    const agent = policy({ isAgent: true });
    expect([1, 2].map((n) => nextAttempt(agent, n, failed('x', 'infra')))).toEqual([
      { again: true, delayMs: 1000, of: 3 },
      { again: true, delayMs: 2000, of: 3 },
    ]);
    expect(nextAttempt(agent, 3, failed('x', 'infra'))).toMatchObject({ again: false });
  });
  test('gives an agent node no retry with max_retries=0', () => {
    expect(nextAttempt(policy({ isAgent: true, maxRetries: 0 }), 1, failed('x', 'infra'))).toMatchObject({
      again: false,
    });
  });
  test('waits as long as the server asks for', () => {
    const limited = failed('x', 'infra', { retryAfterMs: 7000 });
    expect(nextAttempt(policy({ isAgent: true }), 1, limited)).toEqual({ again: true, delayMs: 7000, of: 3 });
  });
  test('waits no longer for a server than a run waits for anything', () => {
    const day = failed('x', 'infra', { retryAfterMs: 86_400_000 });
    const waits = (more: Partial<RetryPolicy>) => nextAttempt(policy({ isAgent: true, ...more }), 1, day);
    expect(waits({})).toEqual({ again: true, delayMs: 120_000, of: 3 });
    expect(waits({ maxDelayMs: 600_000 })).toEqual({ again: true, delayMs: 600_000, of: 3 });
  });
  test.for(['guardrail', 'cancelled', 'budget'] as const)(
    'of class %s is final whatever the node asks for',
    (of) => {
      const eager = policy({ maxRetries: 3, onFail: true });
      expect(nextAttempt(eager, 1, failed('x', of))).toMatchObject({ again: false });
    },
  );
  test.for([
    ['missed', 0.8, false],
    ['undecided', 0.8, false],
    ['undecided', null, true],
    ['met', 0.8, true],
  ] as const)(
    'of scenarios whose strength is %s of a required %s is repeated: %s',
    ([state, required, again]) => {
      const eager = policy({ maxRetries: 3, onFail: true });
      const updates = {
        'judge.strength': { ...unknownStrength('x', { required: undefined }), state, required },
      };
      expect(nextAttempt(eager, 1, failed('x', 'scenario', { updates }))).toMatchObject({ again });
    },
  );
});

test('a goal gate is asked once more for a verdict, whatever its retries', () => {
  const unsaid = failed('no verdict', 'agent', { broke: true, unsaid: true });
  const { unsaid: _, ...told } = unsaid;
  expect(nextAttempt(policy({ maxRetries: 0 }), 2, unsaid)).toMatchObject({ again: true });
  expect(nextAttempt(policy({ maxRetries: 0, askedAgain: true }), 3, unsaid)).toEqual({
    again: false,
    outcome: told,
  });
});
