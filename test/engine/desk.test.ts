import { expect, test } from 'vitest';
import type { Agent, AgentReport, Usage } from '../../src/agents/agent.ts';
import { fallbackAgent, unusableAgent } from '../../src/agents/fallback.ts';
import { openBooks } from '../../src/engine/books.ts';
import type { Caps } from '../../src/engine/caps.ts';
import { openDesk } from '../../src/engine/desk.ts';
import type { CallRecord } from '../../src/model/call-record.ts';
import { taskFor } from '../agents/contract.ts';

const used = (model: string, cost_usd: number | null): Usage => ({
  model,
  input_tokens: 1_000_000,
  output_tokens: 0,
  cost_usd,
});
const saying = (name: string, report: AgentReport, more: Partial<Agent> = {}) => {
  const asked: Readonly<Record<string, string>>[] = [];
  const agent: Agent = {
    name,
    describe: name,
    ...more,
    async work(task) {
      asked.push(task.attributes);
      return report;
    },
  };
  return { agent, asked };
};
const broken = (more: object = {}): AgentReport => ({
  kind: 'failed',
  class: 'infra',
  reason: 'broke',
  ...more,
});
const answered = (usage: Usage): AgentReport => ({ kind: 'answered', text: 'ok', usage });

function counter(caps: Partial<Caps>) {
  const records: CallRecord[] = [];
  const prices = {
    dated: '2026-01-01',
    from: 'test',
    models: new Map([
      ['cheap', { input: 1, output: 1 }],
      ['dear', { input: 100, output: 1 }],
    ]),
  };
  const books = openBooks([], prices, async (record) => void records.push(record));
  const desk = openDesk({
    books,
    caps: { maxSteps: 9, maxWallMs: undefined, ...caps },
    nodeCaps: {},
    kept: { usd: 0, tokens: 0, ms: 0 },
    wallLeft: () => Number.POSITIVE_INFINITY,
    node: 'a',
    visit: 1,
    clock: { now: () => new Date(0) },
  });
  const ask = (agents: readonly Agent[]) =>
    desk.paying(fallbackAgent(agents), 1).work(taskFor(), new AbortController().signal);
  return { records, books, desk, ask };
}

test('each agent of a list is paid by itself, under its own name and at its own price', async () => {
  const { ask, books, records } = counter({ maxCostUsd: 200 });
  const first = saying('one', broken({ usage: used('cheap', null) }), { modelFor: () => 'cheap' });
  const second = saying('two', answered(used('dear', null)), { modelFor: () => 'dear' });
  const report = await ask([unusableAgent('zero', 'no key'), first.agent, second.agent]);
  expect(report).toMatchObject({
    kind: 'answered',
    usage: { agent: 'two', cost_usd: 100 },
    spentBefore: [{ agent: 'one', cost_usd: 1 }],
    by: { agent: 'two', tried: [{ agent: 'zero' }, { agent: 'one' }] },
  });
  expect(books.run()).toMatchObject({ calls: 2, cost_usd: 101, unknown_cost: 0 });
  expect(records.flatMap((one) => (one.type === 'CallStarted' ? [one.agent] : []))).toEqual(['one', 'two']);
});

test('a limit that the first agent of a list has used up keeps the next one from being asked', async () => {
  const { ask, desk } = counter({ maxCostUsd: 1 });
  const second = saying('two', answered(used('cheap', 0)));
  const report = await ask([saying('one', broken({ usage: used('m', 1.5) })).agent, second.agent]);
  expect(report).toMatchObject({ kind: 'failed', class: 'budget', spentBefore: [{ cost_usd: 1.5 }] });
  expect(desk.stop).toContain('max_cost_usd: the run has spent 1.5 USD, and its limit is 1 USD');
  expect(second.asked).toEqual([]);
});

test('an agent that failed without a word of what it used may have cost anything', async () => {
  const { ask, books, desk } = counter({ maxCostUsd: 10 });
  const second = saying('two', answered(used('cheap', 0)));
  await ask([saying('one', broken()).agent, second.agent]);
  expect(books.run()).toMatchObject({ calls: 1, unknown_cost: 1 });
  expect(desk.stop).toContain('the cost of 1 call is not known');
  expect(second.asked).toEqual([]);
});

test.for([
  ['stop', undefined],
  ['allow', 'allow'],
] as const)(
  'where the run says unknown_cost=%s, an agent that counts for itself is told %s',
  async ([word, told]) => {
    const { ask } = counter({ unknownCost: word });
    const one = saying('one', answered(used('m', null)));
    await ask([one.agent]);
    expect(one.asked.map((attributes) => attributes['unknown_cost'])).toEqual([told]);
  },
);

test('an agent of many calls is told before each what the limits leave, and when one is used up the run ends', async () => {
  const { desk } = counter({ maxTokens: 3_000_000, maxCostUsd: 5 });
  const told: unknown[] = [];
  const agent: Agent = {
    name: 'many',
    describe: 'many',
    modelFor: () => 'cheap',
    async work(task) {
      told.push(task.purse?.(undefined, 10), task.purse?.(used('cheap', null), 10));
      told.push(task.purse?.({ ...used('cheap', null), output_tokens: 1_999_995 }, 10), desk.stop);
      return answered(used('cheap', null));
    },
  };
  await desk.paying(agent, 1).work(taskFor(), new AbortController().signal);
  const hit =
    'max_tokens: the run has spent 2999995 tokens, the next call would send about 10, and its limit is 3000000 tokens (max_tokens on the graph, --max-tokens)';
  expect(told).toEqual([{ tokens: 3_000_000 }, { tokens: 2_000_000 }, { empty: hit }, hit]);
});

test('within the work, too, a limit on money counts by price', async () => {
  const { desk } = counter({ maxCostUsd: 100.5 });
  const told: unknown[] = [];
  const agent: Agent = {
    name: 'many',
    describe: 'many',
    modelFor: () => 'dear',
    async work(task) {
      told.push(task.purse?.(undefined, 10), task.purse?.(used('dear', null), 10_000));
      return answered(used('dear', null));
    },
  };
  await desk.paying(agent, 1).work(taskFor(), new AbortController().signal);
  expect(told).toEqual([
    { tokens: undefined },
    {
      empty:
        'max_cost_usd: the run has spent 100 USD, the next call would send about 1 USD, and its limit is 100.5 USD (max_cost_usd on the graph, --max-cost-usd)',
    },
  ]);
});
