import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { AgentAction } from '../../src/core/contracts/agent.ts';
import { patience, roundOf } from '../../src/nodes/patience.ts';
import { handClock } from '../support/clock.ts';

const call = (detail: string, identity?: string): AgentAction => ({
  action: 'tool_call',
  detail,
  status: 'completed',
  ...(identity === undefined ? {} : { identity }),
});
const of = (more: Partial<Parameters<typeof patience>[0]> = {}) =>
  patience({
    clock: handClock(0),
    silentMs: undefined,
    sameCalls: 3,
    changedSince: async () => false,
    ...more,
  });

test('silence of that length stops the agent; output and actions restart it', async () => {
  const clock = handClock(0);
  const watch = of({ clock, silentMs: 10_000 });
  await clock.waiting(1);
  for (const sign of [() => watch.heard(), () => watch.acted(call('x'))]) {
    clock.advance(9_999);
    sign();
    clock.advance(1);
    await clock.waiting(1);
    expect(watch.signal.aborted).toBe(false);
  }
  clock.advance(9_999);
  await vi.waitFor(() => expect(watch.signal.aborted).toBe(true));
  expect(watch.why).toBe('it was silent for 10s (stall_timeout)');
});

test('silence: restarts when a stopped process continues, since it then receives earlier output', async () => {
  const clock = handClock(0);
  const watch = of({ clock, silentMs: 10_000 });
  await clock.waiting(1);
  clock.advance(60_000);
  await clock.waiting(1);
  clock.advance(9_999);
  await clock.waiting(1);
  expect(watch.signal.aborted).toBe(false);
  clock.advance(1);
  await vi.waitFor(() => expect(watch.signal.aborted).toBe(true));
});

test('silence stops an agent also if the process is so busy that all its timers are late', async () => {
  const clock = handClock(0);
  const watch = of({ clock, silentMs: 10_000 });
  for (const late of [15_000, 15_000]) {
    await clock.waiting(1);
    expect(watch.signal.aborted).toBe(false);
    clock.advance(late);
  }
  // Earlier output can still arrive.
  await clock.waiting(1);
  expect(watch.signal.aborted).toBe(false);
  clock.advance(5000);
  await vi.waitFor(() => expect(watch.signal.aborted).toBe(true));
});

test('silence does not count while the process is stopped, even twice', async () => {
  const clock = handClock(0);
  const watch = of({ clock, silentMs: 10_000 });
  for (const late of [15_000, 15_000]) {
    await clock.waiting(1);
    clock.advance(late);
  }
  await clock.waiting(1);
  watch.heard();
  clock.advance(1000);
  await clock.waiting(1);
  clock.advance(8999);
  await clock.waiting(1);
  expect(watch.signal.aborted).toBe(false);
  clock.advance(1);
  await vi.waitFor(() => expect(watch.signal.aborted).toBe(true));
});

test('silence is ignored after the end, and without a limit', async () => {
  const clock = handClock(0);
  const ended = of({ clock, silentMs: 1000 });
  await clock.waiting(1);
  ended.end();
  clock.advance(5000);
  const free = of({ clock });
  clock.advance(1e9);
  await Promise.resolve();
  expect([ended.why, free.why]).toEqual([undefined, undefined]);
});

test('the same call: made this often without a change in the workspace stops the agent', async () => {
  const watch = of();
  for (const detail of ['a', 'b', 'b']) watch.acted(call(detail));
  expect(watch.signal.aborted).toBe(false);
  watch.acted(call('b'));
  await vi.waitFor(() => expect(watch.signal.aborted).toBe(true));
  expect(watch.why).toBe(
    'it made the same call 3 times without a change in the workspace (max_same_calls): b',
  );
});

test.for([-3_600_000, 3_600_000])(
  'the same call is compared with changes since the first one, also if the clock is set by %d ms',
  async (jump) => {
    const clock = handClock(0);
    let set = 0;
    const now = () => new Date(clock.now().getTime() + set);
    const began = clock.now().getTime();
    const asked: number[] = [];
    const watch = of({
      clock: { ...clock, now },
      changedSince: async (at) => asked.push(at.getTime() - began) > 0,
    });
    watch.acted(call('b'));
    clock.advance(5000);
    set = jump;
    for (const detail of ['b', 'b']) watch.acted(call(detail));
    expect(asked).toEqual([Math.min(0, jump)]);
  },
);

test('the same call with other arguments is another call', async () => {
  const watch = of();
  for (const identity of ['1', '2', '3', '4', '5', '6', '7']) watch.acted(call('read', identity));
  await Promise.resolve();
  expect(watch.why).toBeUndefined();
});

test('the same call: alternating with another one stops the agent too', async () => {
  const watch = of();
  for (const detail of ['a', 'b', 'a', 'b', 'a', 'b']) watch.acted(call(detail));
  await vi.waitFor(() => expect(watch.why).toMatch(/the same 2 calls 3 times/));
});

test('the same call is counted again after a change since the first one', async () => {
  const clock = handClock(0);
  const asked: string[] = [];
  let changed = true;
  const watch = of({
    clock,
    changedSince: async (at) => {
      asked.push(at.toISOString().slice(17, 19));
      return changed;
    },
  });
  const round = async () => {
    for (let i = 0; i < 3; i++) {
      clock.advance(1000);
      watch.acted(call('a'));
    }
    await new Promise((resolve) => setImmediate(resolve));
  };
  await round();
  expect(watch.why).toBeUndefined();
  changed = false;
  await round();
  expect(watch.why).toBeDefined();
  expect(asked).toEqual(['01', '04']);
});

test('the same call has no limit with 0, and if the workspace cannot be read', async () => {
  const free = of({ sameCalls: 0 });
  const blind = of({ changedSince: () => Promise.reject(new Error('gone')) });
  for (let i = 0; i < 50; i++) for (const watch of [free, blind]) watch.acted(call('a'));
  await new Promise((resolve) => setImmediate(resolve));
  expect([free.why, blind.why]).toEqual([undefined, undefined]);
});

test('a round is found if and only if the last calls repeat it', () => {
  const calls = fc.array(fc.constantFrom('a', 'b'), { maxLength: 20 });
  fc.assert(
    fc.property(calls, fc.integer({ min: 2, max: 4 }), (list, times) => {
      const repeats = (round: number) => {
        const tail = list.slice(-round * times);
        const unit = tail.slice(0, round);
        return tail.length === round * times && tail.join('') === unit.join('').repeat(times);
      };
      expect(roundOf(list, times)).toBe([1, 2, 3].find(repeats));
    }),
  );
});
