/** The limits of one execution: what is left of them for an attempt, and what ends the run. */
import { expect, test } from 'vitest';
import { succeeded } from '../../../src/core/outcome.ts';
import { budget } from '../../../src/engine/layers/budget.ts';
import { type LayerContext, LimitReached } from '../../../src/engine/layers/layer.ts';
import { temp } from '../../platform/temp.ts';
import { defaultCaps } from '../../support/caps.ts';
import { rig } from './rig.ts';

const caps = { ...defaultCaps, max_wall: 1000, max_tokens: 5 };

/** The budget that a node gets, and how its execution ends if a call was refused by a limit. */
async function budgetOf(
  dir: string,
  attributes: string,
  refused = false,
  signal = new AbortController().signal,
) {
  let found: LayerContext['budget'] | undefined;
  const node = await rig(dir, attributes, { caps, signal });
  const ended = node.through(budget, async (context) => {
    found = context.budget;
    if (refused) {
      const agent = { name: 'x', describe: 'x', work: async () => ({ kind: 'cancelled' as const }) };
      const task = { prompt: 'a prompt that is longer than five tokens are', node: 'a', call: 1 } as never;
      await context.budget.calls.paying(agent, 1).work(task, signal);
    }
    return { outcome: succeeded(), snapshot: context.before };
  });
  const result = await ended.catch((error: unknown) => error);
  await node.close();
  if (found === undefined) throw new Error('no budget');
  return { budget: found, result };
}

test.for<[string, string, number]>([
  ['a tool has what the run has left', 'shape=parallelogram', 1000],
  ['or less, by its own limit', 'shape=parallelogram, max_wall="400ms"', 400],
])('%s', async ([, attributes, left]) => {
  await using it = await temp();
  const { budget: found } = await budgetOf(it.dir, attributes);
  expect(found.timeLeft()).toBe(left);
  expect([found.outOfTime(), found.reached()]).toEqual([undefined, undefined]);
});

test('an agent leaves what is reserved for verification, unless it verifies', async () => {
  await using it = await temp();
  const left = async (attributes: string) =>
    (await budgetOf(it.dir, `shape=box${attributes}]; verify_reserve="20%"; c [label=c`)).budget.timeLeft();
  expect(await left('')).toBe(800);
  expect(await left(', uses_reserve=true')).toBe(1000);
  expect(await left(', goal_gate=true')).toBe(1000);
});

test('a call that a limit has refused ends the run, but not an execution that was cancelled', async () => {
  await using it = await temp();
  const { result } = await budgetOf(it.dir, 'shape=box', true);
  expect(result).toBeInstanceOf(LimitReached);
  expect(String(result)).toMatch(/max_tokens: the run has spent 0/);
  const cancelled = await budgetOf(it.dir, 'shape=box', true, AbortSignal.abort('SIGINT'));
  expect(cancelled.result).toMatchObject({ outcome: { status: 'success' } });
});
