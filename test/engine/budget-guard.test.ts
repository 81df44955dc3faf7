import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fallbackAgent, unusableAgent } from '../../src/agents/fallback.ts';
import type { Usage } from '../../src/core/budget/usage.ts';
import type { Agent, AgentReport, AgentTask } from '../../src/core/contracts/agent.ts';
import type { CallRecord } from '../../src/core/records/visit.ts';
import type { Caps } from '../../src/core/settings/limits.ts';
import { openBudgetGuard } from '../../src/engine/budget-guard.ts';
import type { CallGate, GatedCall } from '../../src/engine/call-gate.ts';
import { endedCalls, openCostLedger } from '../../src/engine/cost-ledger.ts';
import { collectNestedSpending } from '../../src/engine/shared-budget.ts';
import { openJournal } from '../../src/run/journal.ts';
import { taskFor } from '../agents/contract.ts';
import { defaultCaps } from '../support/caps.ts';

const used = (model: string, cost_usd: number | null): Usage => ({
  model,
  input_tokens: 1_000_000,
  output_tokens: 0,
  cost_usd,
});
const saying = (name: string, report: AgentReport, more: Partial<Agent> = {}) => {
  const asked: AgentTask[] = [];
  const agent: Agent = {
    name,
    describe: name,
    ...more,
    async work(task) {
      asked.push(task);
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

const many = { name: 'many', describe: 'many' };

function counter(caps: Partial<Caps>, slow = async () => {}, gates: readonly CallGate[] = []) {
  const records: CallRecord[] = [];
  const prices = {
    dated: '2026-01-01',
    from: 'test',
    models: new Map([
      ['cheap', { input: 1, output: 1 }],
      ['dear', { input: 100, output: 1 }],
    ]),
  };
  const costs = openCostLedger([], prices, async (record) => {
    records.push(record);
    await slow();
  });
  const desk = openBudgetGuard({
    costs,
    caps: { ...defaultCaps, ...caps },
    nodeCaps: {},
    kept: { usd: 0, tokens: 0, ms: 0 },
    wallLeft: () => Number.POSITIVE_INFINITY,
    node: 'a',
    visit: 1,
    clock: { now: () => new Date(0) },
    gates,
  });
  const ask = (agents: readonly Agent[]) =>
    desk.paying(fallbackAgent(agents), 1).work(taskFor(), new AbortController().signal);
  return { records, costs, desk, ask };
}

test('each agent of a list is paid by itself, under its own name and at its own price', async () => {
  const { ask, costs, records } = counter({ max_cost_usd: 200 });
  const first = saying('one', broken({ usage: used('cheap', null) }), { modelFor: () => 'cheap' });
  const second = saying('two', answered(used('dear', null)), { modelFor: () => 'dear' });
  const report = await ask([unusableAgent('zero', 'no key'), first.agent, second.agent]);
  expect(report).toMatchObject({
    kind: 'answered',
    usage: { agent: 'two', cost_usd: 100 },
    spentBefore: [{ agent: 'one', cost_usd: 1 }],
    by: { agent: 'two', tried: [{ agent: 'zero' }, { agent: 'one' }] },
  });
  expect(costs.run()).toMatchObject({ calls: 2, cost_usd: 101, unknown_cost: 0 });
  expect(records.flatMap((one) => (one.type === 'CallStarted' ? [one.agent] : []))).toEqual(['one', 'two']);
});

test('a limit that the first agent of a list has used up keeps the next one from being asked', async () => {
  const { ask, desk } = counter({ max_cost_usd: 1 });
  const second = saying('two', answered(used('cheap', 0)));
  const report = await ask([saying('one', broken({ usage: used('m', 1.5) })).agent, second.agent]);
  expect(report).toMatchObject({ kind: 'failed', class: 'budget', spentBefore: [{ cost_usd: 1.5 }] });
  expect(desk.stop?.reason).toContain('max_cost_usd: the run has spent 1.5 USD, and its limit is 1 USD');
  expect(second.asked).toEqual([]);
});

test('an agent that failed without a word of what it used may have cost anything', async () => {
  const { ask, costs, desk } = counter({ max_cost_usd: 10 });
  const second = saying('two', answered(used('cheap', 0)));
  await ask([saying('one', broken()).agent, second.agent]);
  expect(costs.run()).toMatchObject({ calls: 1, unknown_cost: 1 });
  expect(desk.stop?.reason).toContain('the cost of 1 call is unknown');
  expect(second.asked).toEqual([]);
});

test.for([
  ['stop', undefined],
  ['allow', true],
] as const)(
  'where the run says unknown_cost=%s, an agent that counts for itself receives %s',
  async ([word, told]) => {
    const { ask } = counter({ unknown_cost: word });
    const one = saying('one', answered(used('m', null)));
    await ask([one.agent]);
    expect(one.asked.map(({ uncounted }) => uncounted)).toEqual([told]);
  },
);

test('an agent of many calls receives before each what the limits leave, and when one is used up the run ends', async () => {
  const { desk } = counter({ max_tokens: 3_000_000, max_cost_usd: 5 });
  const told: unknown[] = [];
  const agent: Agent = {
    ...many,
    modelFor: () => 'cheap',
    async work(task) {
      told.push(await task.budget?.(undefined, 10), await task.budget?.(used('cheap', null), 10));
      told.push(
        await task.budget?.({ ...used('cheap', null), output_tokens: 1_999_995 }, 10),
        desk.stop?.reason,
      );
      return answered(used('cheap', null));
    },
  };
  await desk.paying(agent, 1).work(taskFor(), new AbortController().signal);
  const hit =
    'max_tokens: the run has spent 2999995 tokens, the next call would send about 10 tokens, and its limit is 3000000 tokens (max_tokens on the graph, --max-tokens)';
  expect(told).toEqual([{ tokens: 3_000_000 }, { tokens: 2_000_000 }, { empty: hit }, hit]);
});

test('a call is not made before it is written down that it is on its way, however slow the disk is', async () => {
  const { desk, records } = counter({}, async () => {
    await new Promise(setImmediate);
  });
  const sends = () => records.flatMap((record) => (record.type === 'CallTold' ? record.sends : []));
  const agent: Agent = {
    ...many,
    async work(task) {
      task.used?.(used('cheap', null));
      await task.budget?.(used('cheap', null), 10);
      expect(sends()).toEqual([0, 10]);
      return answered(used('cheap', null));
    },
  };
  await desk.paying(agent, 1).work(taskFor(), new AbortController().signal);
  expect(sends()).toEqual([0, 10]);
});

test('no more calls are made when what they use cannot be written down, and the work fails of that', async () => {
  let full = false;
  const { desk } = counter({}, async () => {
    if (full) throw new Error('no space');
  });
  let more: unknown;
  const agent: Agent = {
    ...many,
    async work(task) {
      full = true;
      more = await task.budget?.(used('cheap', null), 10);
      return answered(used('cheap', null));
    },
  };
  const work = desk.paying(agent, 1).work(taskFor(), new AbortController().signal);
  await expect(work).rejects.toThrow('no space');
  expect(more).toEqual({ empty: 'its usage cannot be recorded' });
});

const cutInTheMidst = (more: Partial<Agent>, ...told: readonly Usage[]): Agent => ({
  ...many,
  modelFor: () => 'cheap',
  ...more,
  async work(task) {
    for (const usage of told) task.used?.(usage);
    if (told.length > 0 && more.unseen !== true) await task.budget?.(told.at(-1), 500_000);
    return { kind: 'cancelled' };
  },
});

test.for([
  ['what it told and what was on its way', {}, [used('cheap', null)], 1.5, 0],
  ['what it told, and the rest is unknown', { unseen: true }, [used('cheap', null)], 1, 1],
  ['what was sent, and the rest is unknown', { unseen: true }, [], 0.000001, 1],
  ['what was sent', {}, [], 0.000001, 0],
] as const)('an agent that is cut off in the midst counts %s', async ([, more, told, usd, unknown]) => {
  const { desk, costs, records } = counter({ max_cost_usd: 100 });
  await desk
    .paying(cutInTheMidst(more, ...told), 1)
    .work(taskFor({ prompt: 'abcd' }), new AbortController().signal);
  const spent = { calls: 1, cut: 1, cost_usd: usd, unknown_cost: unknown, unknown_tokens: unknown };
  expect(costs.run()).toMatchObject(spent);
  // The same where the engine was cut off with it, and the costs are opened again.
  const begun = records.filter(({ type }) => type !== 'CallEnded');
  expect(openCostLedger(begun, costs.prices, async () => {}).run()).toEqual(costs.run());
  expect(openCostLedger(records, costs.prices, async () => {}).run()).toEqual(costs.run());
});

test('a call of which a part was not told counts at least what was', async () => {
  const { ask, costs, records } = counter({ unknown_cost: 'allow', max_cost_usd: 5 });
  await ask([saying('one', answered({ ...used('cheap', null), incomplete: true })).agent]);
  expect(costs.run()).toMatchObject({ cost_usd: 1, unknown_cost: 1, unknown_tokens: 1 });
  await ask([saying('two', answered({ ...used('nobody-knows', 3), incomplete: true })).agent]);
  expect(costs.run()).toMatchObject({ cost_usd: 4, unknown_cost: 2, unknown_tokens: 2 });
  expect(openCostLedger(records, costs.prices, async () => {}).run()).toEqual(costs.run());
});

test('calls of other runs are distinguished, and one without an end was interrupted', () => {
  const at = { schema_version: 1, at: '', node: 'a', visit: 1, attempt: 1 } as const;
  const begin = { ...at, type: 'CallStarted', agent: 'm', model: 'cheap', input_tokens: 9 } as const;
  const end = { ...at, type: 'CallEnded', ended: 'told', usage: used('cheap', 1), cost_usd: 1 } as const;
  const ended = endedCalls([
    { run: 'x', call: begin },
    { run: 'y', call: begin },
    { run: 'x', call: end },
    { run: 'y', call: { ...at, type: 'CallTold', usage: used('cheap', null), sends: 7 } },
    { run: 'z', call: { ...end, run: 'w' } },
  ]);
  expect(ended.map(({ run, ended: how, usage }) => [run, how, usage?.input_tokens])).toEqual([
    ['x', 'told', 1_000_000],
    ['z', 'told', 1_000_000],
    ['y', 'cut', 1_000_007],
  ]);
});

test('what a run of a stage has spent is taken over once, also by who follows an engine that was killed amid it', async () => {
  const nodeDir = mkdtempSync(join(tmpdir(), 'desk-'));
  const journal = await openJournal(join(nodeDir, 'spent.jsonl'), { runId: 'inner', epoch: 1 });
  const stamp = { schema_version: 1, at: '2026-01-01T00:00:00Z', node: 'x', visit: 1, attempt: 1 } as const;
  for (let n = 0; n < 2; n += 1)
    journal.append({ ...stamp, type: 'CallEnded', ended: 'told', usage: used('m', 1), cost_usd: 1 });
  await journal.close();
  const records: CallRecord[] = [];
  const costs = () =>
    openCostLedger(records, { dated: '', from: '', models: new Map() }, async (record) => {
      records.push(record);
      if (records.length === 1) throw new Error('killed');
    });
  await expect(collectNestedSpending(nodeDir, stamp, costs())).rejects.toThrow('killed');
  const later = costs();
  await collectNestedSpending(nodeDir, stamp, later);
  expect(later.run()).toMatchObject({ calls: 2, cost_usd: 2 });
  expect(costs().run()).toEqual(later.run());
  expect(existsSync(join(nodeDir, 'spent.jsonl'))).toBe(false);
  rmSync(nodeDir, { recursive: true });
});

test('a secret that a program or a stage’s run calls its model by is in no book', async () => {
  const { desk, records, costs } = counter({});
  const mask = (text: string) => text.replaceAll('hush', '***');
  const usage = used('of hush', 1);
  const agent: Agent = {
    ...many,
    async work(task) {
      await task.budget?.(usage, 10);
      return answered(usage);
    },
  };
  const told = await desk.paying(agent, 1, mask).work(taskFor(), new AbortController().signal);
  const nodeDir = mkdtempSync(join(tmpdir(), 'desk-'));
  const journal = await openJournal(join(nodeDir, 'spent.jsonl'), { runId: 'hush', epoch: 1 });
  const stamp = { schema_version: 1, at: '2026-01-01T00:00:00Z', node: 'x', visit: 1, attempt: 1 } as const;
  journal.append({ ...stamp, type: 'CallEnded', ended: 'told', usage, cost_usd: 1 });
  await journal.close();
  await desk.gather(nodeDir, 1, mask);
  rmSync(nodeDir, { recursive: true });
  expect(costs.run()).toMatchObject({ calls: 2, cost_usd: 2 });
  expect(JSON.stringify([told, records])).not.toContain('hush');
  expect(JSON.stringify(records)).toContain('of ***');
});

/** A gate that refuses the call with this number, from 1. */
function gateRefusing(number: number) {
  const asked: GatedCall[] = [];
  const after: string[] = [];
  const gate: CallGate = {
    async before(call) {
      asked.push(call);
      if (asked.length !== number) return undefined;
      return { class: 'infra', reason: 'on hold', park: { kind: 'quota', wakeAtMs: 5 } };
    },
    async after(_, { kind }) {
      after.push(kind);
    },
  };
  return { gate, asked, after };
}
const refusal = { kind: 'failed', class: 'infra', park: { kind: 'quota', wakeAtMs: 5 } };

test('a call that a gate refuses is not made, costs nothing, and no later gate is asked', async () => {
  const [first, second] = [gateRefusing(1), gateRefusing(1)];
  const { ask, records } = counter({}, undefined, [first.gate, second.gate]);
  const { agent, asked } = saying('one', answered(used('cheap', 1)));
  expect(await ask([agent])).toMatchObject(refusal);
  expect([asked, records, second.asked]).toEqual([[], [], []]);
  expect([first.after, second.after]).toEqual([['failed'], ['failed']]);
});

test('gates are asked after the limits of the run, and not for agents that cost nothing', async () => {
  const { gate, asked } = gateRefusing(1);
  const limited = counter({ max_tokens: 0 }, undefined, [gate]);
  expect(await limited.ask([saying('one', broken()).agent])).toMatchObject({ class: 'budget' });
  const free = saying('fake', { kind: 'answered', text: 'ok' }, { free: true });
  expect((await counter({}, undefined, [gate]).ask([free.agent])).kind).toBe('answered');
  expect(asked).toEqual([]);
});

test('a task with many calls is asked for before each, with what it has used', async () => {
  const { gate, asked } = gateRefusing(2);
  const { ask, records } = counter({}, undefined, [gate]);
  const usage = used('cheap', null);
  const agent: Agent = {
    ...many,
    modelFor: () => 'cheap',
    async work(task) {
      const room = await task.budget?.(usage, 250_000);
      if (room === undefined || !('empty' in room)) return answered(usage);
      const { empty: reason, ...more } = room;
      return { kind: 'failed', class: 'budget', reason, ...more, usage };
    },
  };
  expect(await ask([agent])).toMatchObject({ ...refusal, usage: { cost_usd: 1 } });
  expect(asked[1]).toMatchObject({ used: usage, next: { tokens: 250_000, costUsd: 0.25 } });
  expect(records.map(({ type }) => type)).toEqual(['CallStarted', 'CallEnded']);
});

test('a signal that ends the wait at a gate ends the call before it is made', async () => {
  const over = new AbortController();
  const waits: CallGate = {
    async before() {
      over.abort();
      return undefined;
    },
  };
  const { desk, records } = counter({}, undefined, [waits]);
  const { agent } = saying('one', answered(used('cheap', 1)));
  expect(await desk.paying(agent, 1).work(taskFor(), over.signal)).toEqual({ kind: 'cancelled' });
  expect(records).toEqual([]);
});
