import { describe, expect, test } from 'vitest';
import { fakeAgent } from '../../src/agents/fake.ts';
import { fallbackAgent, unusableAgent } from '../../src/agents/fallback.ts';
import type { Agent, AgentReport } from '../../src/core/contracts/agent.ts';
import { keepsTheAgentContract, taskFor, wellFormed } from './contract.ts';

type Failed = Extract<AgentReport, { kind: 'failed' }>;
const failing = (name: string, more: Partial<Failed> & Pick<Failed, 'class'>): Agent => ({
  name,
  describe: `${name} that fails`,
  work: async () => ({ kind: 'failed', reason: `${name} broke`, ...more }),
});
const used = (model: string, cost: number | null) => ({
  model,
  input_tokens: 10,
  output_tokens: 1,
  cost_usd: cost,
});
const answering = (name: string): Agent => ({
  name,
  describe: `${name} that answers`,
  work: async () => ({ kind: 'answered', text: name, usage: used('m', 1) }),
});
const work = async (agents: readonly Agent[]) =>
  wellFormed(await fallbackAgent(agents).work(taskFor(), new AbortController().signal));

keepsTheAgentContract('absent,fake', async () => ({
  agent: fallbackAgent([unusableAgent('absent', 'no key'), fakeAgent()]),
  broken: { agent: fallbackAgent([failing('a', { class: 'infra' }), unusableAgent('b', 'no key')]) },
  async [Symbol.asyncDispose]() {},
}));

describe('the next agent is asked', () => {
  const reasons: readonly (readonly [string, Partial<Failed> & Pick<Failed, 'class'>])[] = [
    ['network, server or machine fail', { class: 'infra' }],
    ['the program is missing', { class: 'config', missing: true }],
    ['there is no login', { class: 'config', park: { kind: 'auth' } }],
    ['a quota is used up', { class: 'infra', park: { kind: 'quota', wakeAtMs: 1 } }],
  ];
  test.for(reasons)('when %s, and the report says who answered', async ([, failure]) => {
    const logged: object[] = [];
    const report = wellFormed(
      await fallbackAgent([failing('one', { ...failure, usage: used('x', null) }), answering('two')]).work(
        taskFor({ log: (level, message, fields) => logged.push({ level, message, fields }) }),
        new AbortController().signal,
      ),
    );
    expect(report).toMatchObject({
      kind: 'answered',
      text: 'two',
      usage: { agent: 'two', model: 'm' },
      spentBefore: [{ agent: 'one', model: 'x' }],
      by: { agent: 'two', tried: [{ agent: 'one', class: failure.class, reason: 'one broke' }] },
    });
    expect(logged).toMatchObject([{ level: 'warn', message: 'one could not answer; two is asked' }]);
  });
});

test.for(['agent', 'timeout', 'config', 'product', 'guardrail', 'stalled'] as const)(
  'a failure of class %s is its own, and no reason to ask another',
  async (failureClass) => {
    expect(await work([failing('one', { class: failureClass }), answering('two')])).toMatchObject({
      kind: 'failed',
      class: failureClass,
      reason: 'one broke',
      by: { agent: 'one' },
    });
  },
);

test('where none could answer, what passes by itself decides, and all reasons are reported', async () => {
  const missing = failing('a', { class: 'config', missing: true });
  const quota = (name: string, wakeAtMs: number) =>
    failing(name, { class: 'infra', park: { kind: 'quota', wakeAtMs } });
  expect(await work([missing, failing('b', { class: 'infra' }), quota('c', 5)])).toMatchObject({
    class: 'infra',
    reason: 'no agent could answer: a: a broke; b: b broke; c: c broke',
    by: { agent: 'b', tried: [{ agent: 'a' }, { agent: 'c' }] },
  });
  expect(await work([quota('a', 9), missing, quota('c', 5)])).toMatchObject({
    park: { kind: 'quota', wakeAtMs: 5 },
    by: { agent: 'c' },
  });
  expect(await work([missing, failing('b', { class: 'config', missing: true })])).toMatchObject({
    class: 'config',
    by: { agent: 'b' },
  });
});

test('a stop is no failure: no other agent is asked', async () => {
  const stop = new AbortController();
  const asked: string[] = [];
  const first: Agent = {
    ...failing('one', { class: 'infra' }),
    async work() {
      stop.abort();
      return { kind: 'failed', class: 'infra', reason: 'cut' };
    },
  };
  const second: Agent = {
    ...answering('two'),
    async work() {
      asked.push('two');
      return { kind: 'cancelled' };
    },
  };
  expect(await fallbackAgent([first, second]).work(taskFor(), stop.signal)).toEqual({ kind: 'cancelled' });
  expect(asked).toEqual([]);
});

test('a stop in the midst tells who was at work, and what the others had spent', async () => {
  const stopped: Agent = { ...answering('two'), work: async () => ({ kind: 'cancelled' }) };
  expect(await work([failing('one', { class: 'infra', usage: used('x', 2) }), stopped])).toMatchObject({
    kind: 'cancelled',
    by: { agent: 'two', tried: [{ agent: 'one' }] },
    spentBefore: [{ agent: 'one', cost_usd: 2 }],
  });
});

test('a stop between two agents tells what the first one had spent', async () => {
  const stop = new AbortController();
  const first: Agent = {
    ...answering('one'),
    async work() {
      stop.abort();
      return { kind: 'failed', class: 'infra', reason: 'one broke', usage: used('x', 2) };
    },
  };
  const report = await fallbackAgent([first, answering('two')]).work(taskFor(), stop.signal);
  expect(wellFormed(report)).toEqual({
    kind: 'cancelled',
    spentBefore: [{ ...used('x', 2), agent: 'one' }],
  });
});

test('an outage of one agent is a reason to ask the next, after a few quick retries', async () => {
  const down = failing('a', { class: 'infra', park: { kind: 'outage' } });
  const waits: (number | undefined)[] = [];
  const first: Agent = {
    ...down,
    work: (task, signal) => {
      waits.push(task.outageMs);
      return down.work(task, signal);
    },
  };
  expect(await work([first, answering('b')])).toMatchObject({ kind: 'answered' });
  expect(waits).toEqual([0]);
  const quota = failing('c', { class: 'infra', park: { kind: 'quota', wakeAtMs: 1 } });
  expect(await work([quota, first])).toMatchObject({ park: { kind: 'outage' } });
});
