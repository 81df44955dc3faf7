/** Model calls of branches that are under way at the same time: each is counted once, and admitted with what it sends. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Prices } from '../../src/core/budget/prices.ts';
import type { Usage } from '../../src/core/budget/usage.ts';
import type { Agent, AgentReport } from '../../src/core/contracts/agent.ts';
import type { CallRecord } from '../../src/core/records/visit.ts';
import type { Caps } from '../../src/core/settings/limits.ts';
import { openBudgetGuard } from '../../src/engine/budget-guard.ts';
import type { CallGate } from '../../src/engine/call-gate.ts';
import { endedCalls, openCostLedger } from '../../src/engine/cost-ledger.ts';
import { taskFor } from '../agents/contract.ts';
import { defaultCaps } from '../support/caps.ts';

const prices: Prices = { dated: '', from: 'test', models: new Map([['m', { input: 1, output: 1 }]]) };
const used = (input_tokens: number): Usage => ({
  model: 'm',
  input_tokens,
  output_tokens: 0,
  cost_usd: null,
});
const quiet = async () => {};

type Act = { readonly branch: number; readonly to: 'begin' | 'tell' | 'end' | 'cut' };

/** What branches do with their calls, in an order in which that can be: no call begins before the one before has ended. */
const acts = fc
  .array(fc.record({ branch: fc.nat(3), to: fc.constantFrom<Act['to']>('begin', 'tell', 'end', 'cut') }), {
    maxLength: 40,
  })
  .map((all) => {
    const open = new Set<number>();
    return all.filter(({ branch, to }) => {
      if (open.has(branch) !== (to !== 'begin')) return false;
      if (to === 'begin') open.add(branch);
      else if (to !== 'tell') open.delete(branch);
      return true;
    });
  });

const nameOf = (branch: number) => (branch === 0 ? undefined : `b${branch}`);
const stampOf = (branch: number) => ({
  ...{ at: '', node: `n${branch}`, visit: 1, attempt: 1 },
  ...(nameOf(branch) === undefined ? {} : { branch: `b${branch}` }),
});

test('calls of branches count as they would one after another, also where an engine was killed amid them', async () => {
  await fc.assert(
    fc.asyncProperty(acts, async (all) => {
      const live: CallRecord[] = [];
      const costs = openCostLedger([], prices, async (record) => void live.push(record));
      let [calls, tokens] = [0, 0];
      const open = new Map<number, number>();
      for (const { branch, to } of all) {
        const at = stampOf(branch);
        const least = open.get(branch) ?? 0;
        if (to === 'begin') {
          await costs.begin(at, { agent: 'a', model: 'm', input_tokens: 10 });
          open.set(branch, 10);
          calls += 1;
        } else if (to === 'tell') {
          await costs.progress(at, used(100), 7);
          open.set(branch, 107);
        } else {
          await costs.end(
            at,
            to === 'cut' ? { ended: 'cut', usage: null } : { ended: 'told', usage: used(1000) },
          );
          tokens += to === 'cut' ? least : 1000;
          open.delete(branch);
        }
      }
      const sums = () => [...open.values()].reduce((sum, each) => sum + each, 0);
      expect(costs.run()).toMatchObject({ calls: calls - open.size, input_tokens: tokens });
      for (const branch of [0, 1, 2, 3])
        expect(costs.reserved(nameOf(branch)).tokens).toBe(sums() - (open.get(branch) ?? 0));
      const later = openCostLedger(live, prices, quiet);
      const whole = { calls, input_tokens: tokens + sums(), unknown_cost: 0 };
      expect(later.run()).toMatchObject(whole);
      expect(later.reserved(undefined)).toEqual({ usd: 0, tokens: 0 });
      // The run above one in a stage counts the same.
      const above = openCostLedger([], prices, quiet);
      for (const [n, call] of endedCalls(live.map((call) => ({ run: 'r', call }))).entries()) {
        expect(call).not.toHaveProperty('branch');
        await above.take({ ...call, ...stampOf(2), run: 'r', told: `${n}` });
      }
      expect(above.run()).toMatchObject(whole);
    }),
  );
});

/** Five calls of branches with the same prompt at the same time. */
function five(caps: Partial<Caps>, gates: readonly CallGate[] = []) {
  const costs = openCostLedger([], prices, () => new Promise(setImmediate));
  const ends: ((report: AgentReport) => void)[] = [];
  const agent: Agent = {
    ...{ name: 'one', describe: 'one', modelFor: () => 'm' },
    work: () => new Promise((end) => ends.push(end)),
  };
  const desks = ['a', 'b', 'c', 'd', 'e'].map((branch) =>
    openBudgetGuard({
      ...{ costs, caps: { ...defaultCaps, ...caps }, nodeCaps: {}, kept: { usd: 0, tokens: 0, ms: 0 } },
      ...{ wallLeft: () => Number.POSITIVE_INFINITY, node: branch, visit: 1, branch },
      ...{ clock: { now: () => new Date(0) }, gates },
    }),
  );
  const ask = (n: number) =>
    desks[n]?.paying(agent, 1).work(taskFor({ prompt: 'x'.repeat(400) }), new AbortController().signal);
  return { costs, ends, desks, ask };
}

const turns = async () => {
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
};
const passing: CallGate = { before: async () => undefined };

const orders = fc.uniqueArray(fc.nat(4), { minLength: 5, maxLength: 5 });

test('with tokens for two calls and a half the third is refused, in whatever order branches ask and answers come', async () => {
  await fc.assert(
    fc.asyncProperty(orders, fc.nat(2), fc.boolean(), async (order, ended, isGated) => {
      const { ask, ends, costs, desks } = five({ max_tokens: 250 }, isGated ? [passing] : []);
      const reports: (AgentReport | undefined)[] = [];
      const asked: Promise<unknown>[] = [];
      for (const [at, n] of order.entries()) {
        // Some answers come before the third is asked.
        if (at === 2)
          for (const end of ends.slice(0, ended)) end({ kind: 'answered', text: '', usage: used(100) });
        await turns();
        const answer = async () => {
          reports[n] = await ask(n);
        };
        asked.push(answer());
        await turns();
      }
      for (const end of ends.slice(ended)) end({ kind: 'answered', text: '', usage: used(100) });
      await Promise.all(asked);
      expect(order.map((n) => reports[n]?.kind)).toEqual([
        'answered',
        'answered',
        'failed',
        'failed',
        'failed',
      ]);
      expect(costs.run()).toMatchObject({ calls: 2, input_tokens: 200 });
      expect(desks[order[2] ?? 0]?.stop?.reason).toMatch(
        /^max_tokens: the run has spent \d+ tokens.*the next call would send about 100 tokens/,
      );
    }),
    { numRuns: 30 },
  );
});

test('a call that is refused for those of other branches says what these use', async () => {
  const { ask, ends, desks } = five({ max_cost_usd: 0.00025 });
  const open = [ask(0), ask(1)];
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  expect(await ask(2)).toMatchObject({ kind: 'failed', class: 'budget' });
  expect(desks[2]?.stop?.reason).toBe(
    'max_cost_usd: the run has spent 0 USD, calls in other branches use at least about 0.0002 USD, the next call would send about 0.0001 USD, and its limit is 0.00025 USD (max_cost_usd on the graph, --max-cost-usd)',
  );
  for (const end of ends) end({ kind: 'cancelled' });
  await Promise.all(open);
});
