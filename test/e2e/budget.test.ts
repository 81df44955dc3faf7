/** What a run has spent outlives its engine, and what its own runs spend is its own. */
import { expect, test } from 'vitest';
import { home } from '../support/cli.ts';
import { startModelServer } from '../support/model-server.ts';

const million = { input_tokens: 1_000_000, output_tokens: 0 };

test('a call that kill -9 has cut counts what was sent; what was told before still counts', async () => {
  let kill: (() => void) | undefined;
  await using server = await startModelServer((_request, index) => {
    if (index !== 1) return { text: 'ok', usage: million };
    kill?.();
    return { hang: true };
  });
  const prompt = 'word '.repeat(8000);
  await using it = await home({
    'p.dot': `digraph t { max_cost_usd=10; workdir=none; start [shape=Mdiamond]; done [shape=Msquare]
      a [prompt=a]; b [prompt="${prompt}"]; start -> a -> b -> done }`,
  });
  const env = { OPENAI_API_KEY: 'sk-e2e-0123456789abcdef', OPENAI_BASE_URL: server.url };
  const killed = await it.factory(['run', 'p.dot', '--run-id', 'r1'], {
    env,
    watch: (_line, process) => {
      kill = () => process.kill('SIGKILL');
    },
  });
  expect(killed.signal).toBe('SIGKILL');
  const ran = await it.factory(['resume', 'r1', '--json'], { env });
  expect(ran.code, ran.stderr).toBe(0);
  // 1.75 USD a million: two whole calls, and 10,000 tokens that were sent for the one that was cut.
  expect(JSON.parse(ran.stdout).spent).toMatchObject({
    calls: 3,
    cut: 1,
    cost_usd: 3.5175,
    unknown_cost: 0,
    input_tokens: 2_010_000,
  });
});

test('a run that a stage starts shares the limits, and what it spends counts in both', async () => {
  const usage = { model: 'm', input_tokens: 10, output_tokens: 10, cost_usd: 0.6 };
  const answers = Object.fromEntries(['a', 'b', 'c'].map((node) => [node, [{ text: 'ok', usage }]]));
  await using it = await home({
    'work/inner.dot': `digraph inner { workdir=none; start [shape=Mdiamond]; done [shape=Msquare]
      a [prompt=a]; b [prompt=b]; c [prompt=c]; start -> a -> b -> c -> done }`,
    'work/agent.json': JSON.stringify({ format: 'factory-script/1', answers }),
    'outer.dot': `digraph outer { max_cost_usd=1; start [shape=Mdiamond]; done [shape=Msquare]
      t [shape=parallelogram, tool_command="factory run inner.dot --agent scripted --script agent.json --run-id in --runsdir \\"$FACTORY_NODE_DIR/runs\\" --json"]
      start -> t; t -> done [condition="outcome=fail"]; t -> done [condition="outcome=success"] }`,
  });
  const ran = await it.factory(['run', 'outer.dot', '--run-id', 'r1', '--workdir', 'work', '--json']);
  const inner = await it.json('.factory/runs/r1/t/runs/in/result.json');
  expect(inner).toMatchObject({ status: 'failed', spent: { calls: 2, cost_usd: 1.2 } });
  expect(JSON.stringify(inner)).toContain('max_cost_usd: the run has spent 1.2 USD, and its limit is 1 USD');
  expect(ran.code).toBe(1);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    reason: expect.stringMatching(/^max_cost_usd: /),
    spent: { calls: 2, cost_usd: 1.2 },
  });
});
