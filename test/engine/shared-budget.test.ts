/** What a stage and the runs that it starts tell each other: what may be spent, and what they wait for. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { nothingSpent } from '../../src/core/budget/usage.ts';
import { failed, type SuspendedRun, succeeded } from '../../src/core/outcome.ts';
import { openCostLedger } from '../../src/engine/cost-ledger.ts';
import { budgetFile, share, sharedBudget, waitingWithin } from '../../src/engine/shared-budget.ts';
import { temp } from '../platform/temp.ts';
import { defaultCaps } from '../support/caps.ts';

const waits: SuspendedRun = {
  status: 'paused_auth',
  node: 'inner',
  reason: 'no key',
  wake_at: null,
  since: '2026-01-01T00:00:00.000Z',
};

test.for([
  ['fails with the code of a run that waits', failed('tool_exit_code_75', 'product', { exitCode: 75 }), true],
  ['fails with another one', failed('tool_exit_code_1', 'product', { exitCode: 1 }), false],
  ['succeeds', succeeded(), false],
] as const)(
  'a node that %s after its nested run was suspended is suspended too: %s',
  async ([, outcome, is]) => {
    await using it = await temp();
    writeFileSync(it.at('parked.json'), JSON.stringify(waits));
    const told = await waitingWithin(it.dir, outcome);
    if (is)
      expect(told).toMatchObject({
        class: 'config',
        reason: 'a nested run is suspended: inner: no key',
        park: { kind: 'auth', within: true },
      });
    else expect(told).toEqual(outcome);
    // The next attempt does not see it.
    expect(existsSync(it.at('parked.json'))).toBe(false);
  },
);

test('a stage may hand on what is left of the run and of itself, whichever is less', async () => {
  const caps = { ...defaultCaps, max_tokens: 1000, max_cost_usd: 5 };
  const spent = { ...nothingSpent, input_tokens: 100, cost_usd: 1 };
  const told = async (node: { max_tokens?: number; max_cost_usd?: number }) => {
    await using it = await temp();
    await share(it.dir, caps, node, { run: spent, node: spent, wallLeftMs: Number.POSITIVE_INFINITY });
    return JSON.parse(readFileSync(budgetFile(it.dir), 'utf8'));
  };
  expect(await told({})).toMatchObject({ tokens: 900, usd: 4, ms: null, unknown_cost: 'stop' });
  expect(await told({ max_tokens: 150, max_cost_usd: 9 })).toMatchObject({ tokens: 50, usd: 4 });
  expect(await told({ max_tokens: 9999, max_cost_usd: 1.5 })).toMatchObject({ tokens: 900, usd: 0.5 });
  expect(await told({ max_tokens: 10 })).toMatchObject({ tokens: 0 });
});

test('a call without an end counts also where the next one has begun behind it', () => {
  const at = { schema_version: 1, at: '2026-01-01T00:00:00.000Z', node: 'a', visit: 1, attempt: 1 } as const;
  const begun = { ...at, type: 'CallStarted', agent: 'x', model: 'm', input_tokens: 7 } as const;
  const usage = { model: 'm', input_tokens: 2, output_tokens: 0, cost_usd: 1 };
  const ended = { ...at, type: 'CallEnded', ended: 'told', usage, cost_usd: 1 } as const;
  const prices = { dated: '2026-01-01', from: 'test', models: new Map() };
  const costs = openCostLedger([begun, begun, ended], prices, async () => {});
  expect(costs.run()).toMatchObject({ calls: 2, cut: 1, input_tokens: 9 });
});

test('nested runs that follow each other share one budget, and a call of unknown cost uses it up', async () => {
  await using it = await temp();
  await share(
    it.dir,
    { ...defaultCaps, max_tokens: 1000, max_cost_usd: 5 },
    {},
    { run: nothingSpent, node: nothingSpent, wallLeftMs: Number.POSITIVE_INFINITY },
  );
  const at = { schema_version: 1, at: '2026-01-01T00:00:00.000Z', node: 'a', visit: 1, attempt: 1 } as const;
  const begun = { ...at, type: 'CallStarted', agent: 'x', model: 'm', input_tokens: 7 } as const;
  const usage = { model: 'm', input_tokens: 300, output_tokens: 100, cost_usd: 1 };
  const ended = { ...at, type: 'CallEnded', ended: 'told', usage, cost_usd: 1 } as const;
  const untold = { ...ended, ended: 'untold', usage: null, cost_usd: null } as const;
  const prices = { dated: '2026-01-01', from: 'test', models: new Map() };
  const open = async (runId: string, tokens = 0) => {
    const spent = { ...nothingSpent, input_tokens: tokens };
    const env = { FACTORY_BUDGET: budgetFile(it.dir) };
    const nested = await sharedBudget(env, defaultCaps, { spent, elapsedMs: 0, prices }, runId);
    if (nested === undefined) throw new Error('There is a budget.');
    return { left: [nested.caps.max_tokens, nested.caps.max_cost_usd], ...nested };
  };
  const first = await open('r1');
  await first.tell(begun);
  await first.tell(ended);
  await first.close();
  const [second, resumed] = [await open('r2'), await open('r1', 400)];
  await second.tell({ ...begun, at: '2026-01-01T00:00:01.000Z' });
  await second.tell(untold);
  await second.close();
  const third = await open('r3');
  const [all, rest, none] = [
    [1000, 5],
    [600, 4],
    [0, 0],
  ];
  expect([first.left, second.left, resumed.left, third.left]).toEqual([all, rest, [1000, 4], none]);
});
