/** What is recorded of a node and its agent. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { succeeded } from '../../../src/core/outcome.ts';
import { layout, nodeLayout } from '../../../src/core/records/layout.ts';
import { record } from '../../../src/engine/layers/record.ts';
import type { ExchangeLog } from '../../../src/run/exchanges.ts';
import { temp } from '../../platform/temp.ts';
import { rig, tree } from './rig.ts';

const secret = 'tok-4711-verysecret';

test('saves the exchange with both snapshots, then lists what changed, with secrets masked', async () => {
  await using it = await temp();
  const order: string[] = [];
  const path = nodeLayout(layout(it.dir).node('a')).diff;
  const log: Partial<ExchangeLog> = {
    body: async (text) => ({ text }) as never,
    append: async ({ files, prompt_sha256 }) => {
      order.push(`${files?.before} ${files?.after} ${prompt_sha256.length} ${existsSync(path)}`);
    },
  };
  const agent = {
    name: 'x',
    describe: 'x',
    free: true as const,
    work: async (task: { acted(action: object): void; waits(wait: object): void }) => {
      task.waits({ attempt: 2, cause: 'rate_limit', reason: secret, delayMs: 1.6 });
      for (const detail of [secret, 'two']) task.acted({ action: 'ran', detail, status: 'ok' });
      return { kind: 'answered' as const, text: 'done' };
    },
  };
  const node = await rig(it.dir, 'shape=box', {
    run: { agentFor: () => agent as never, exchanges: log as ExchangeLog, env: { API_TOKEN: secret } },
  });
  const usage = { model: 'm', input_tokens: 1, output_tokens: 1, cost_usd: 1 };
  const executed = await node.through(record, async (context) => {
    const task = {
      prompt: 'p',
      settings: {},
      call: 1,
      acted: context.agent?.acted,
      waits: context.agent?.waits,
      record() {},
      keep() {},
    };
    await context.agent?.ask(task as never, new AbortController().signal);
    context.agent?.spent(usage);
    return { outcome: succeeded(), snapshot: tree({ [`dir/${secret}`]: '1' }) };
  });
  await node.close();
  expect(executed.usage).toEqual(usage);
  expect(order).toEqual([`s0 ${tree({ [`dir/${secret}`]: '1' }).id} 64 false`]);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
    created: ['dir/***'],
    modified: [],
    deleted: [],
  });
  expect(node.events).toMatchObject([
    { type: 'CallRetrying', attempt: 2, cause: 'rate_limit', reason: '***', delay_ms: 2 },
    { type: 'AgentActed', detail: '***' },
    { type: 'AgentActed', detail: 'two' },
  ]);
});

test('a node without an agent has none', async () => {
  await using it = await temp();
  const node = await rig(it.dir, 'shape=box');
  await node.through(record, async ({ agent, before }) => {
    expect(agent).toBeUndefined();
    return { outcome: succeeded(), snapshot: before };
  });
  await node.close();
});
