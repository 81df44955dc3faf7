/** Money and tokens: what calls cost, where a run stops for it, and what a resume still knows. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../support/cli.ts';
import { house } from '../support/house.ts';
import { type Reaction, startModelServer } from '../support/model-server.ts';

/** Nodes `a`, `b`, … in a row, each asking an agent. */
const row = (attributes: string, ...nodes: string[]) =>
  `digraph t { ${attributes}
    start [shape=Mdiamond]; done [shape=Msquare];
    ${nodes.map((node) => (node.includes('[') ? node : `${node} [prompt="ask ${node}"]`)).join('\n    ')}
    ${['start', ...nodes.map((node) => node.split(' ')[0]), 'done'].join(' -> ')} }`;

const run = '.factory/runs/r1';

async function scripted(graph: string, usages: Record<string, object[]>) {
  const answers = Object.fromEntries(
    Object.entries(usages).map(([node, list]) => [
      node,
      list.map((usage) => ({ text: 'ok', ...(Object.keys(usage).length === 0 ? {} : { usage }) })),
    ]),
  );
  const it = await house({
    'p.dot': graph,
    'agent.json': JSON.stringify({ format: 'factory-script/1', answers }),
    'work/x.txt': 'x',
  });
  const start = (options: object = {}) =>
    it.run('p.dot', {
      runId: 'r1',
      script: 'agent.json',
      agent: 'scripted',
      workdir: 'work',
      json: true,
      ...options,
    });
  return Object.assign(it, { start });
}

const usd = (cost_usd: number) => ({ model: 'm', input_tokens: 100, output_tokens: 50, cost_usd });

test('what calls cost is summed in result, checkpoint, summary, list, events and trace', async () => {
  await using it = await scripted(row('', 'a', 'b'), {
    a: [
      {
        model: 'gpt-5.2-2025-12-11',
        input_tokens: 1_000_000,
        cached_input_tokens: 400_000,
        output_tokens: 100_000,
      },
    ],
    b: [{ model: 'nobody-knows', input_tokens: 20_000, output_tokens: 4 }],
  });
  const ran = await it.start({ json: false });
  expect(ran.code, ran.err).toBe(0);
  // 600,000 at 1.75, 400,000 at 0.175 and 100,000 at 14 for a million.
  const spent = {
    calls: 2,
    cost_usd: 2.52,
    unknown_cost: 1,
    input_tokens: 1_020_000,
    output_tokens: 100_004,
    cached_input_tokens: 400_000,
  };
  expect(ran.out).toMatch(/spent +2\.52 USD \(2 calls, 1\.1M tokens\), 1 call of unknown cost/);
  expect(it.json(`${run}/result.json`)).toMatchObject({ spent });
  expect(it.json(`${run}/checkpoint.json`)).toMatchObject({ spent });
  const listed = JSON.parse((await it.runs({ json: true })).out);
  expect(listed.runs[0]).toMatchObject({ spent, wake_at: null });
  const shown = JSON.parse((await it.show('r1', { json: true })).out);
  expect(shown).toMatchObject({ spent, prices: { from: 'bundled' } });
  expect(shown.nodes.map((one: { spent: object }) => one.spent)).toMatchObject([
    { calls: 0 },
    { calls: 1, cost_usd: 2.52 },
    { calls: 1, unknown_cost: 1, input_tokens: 20_000 },
    { calls: 0 },
  ]);
  expect((await it.show('r1')).out).toMatch(
    /spent +2\.52 USD .*unknown cost\n[\s\S]*prices +of \d{4}-.*\(bundled\)/,
  );
  const of = (records: Record<string, unknown>[], type: string) =>
    records.filter((one) => one['type'] === type).flatMap((one) => one['usage'] ?? []);
  const cost = [{ cost_usd: 2.52 }, { cost_usd: null }];
  expect(of(it.records(`${run}/events.jsonl`), 'StageCompleted')).toMatchObject(cost);
  expect(of(it.records(`${run}/trace.jsonl`), 'NodeOutputCaptured')).toMatchObject(cost);
  expect(it.json(`${run}/a/usage.json`)).toMatchObject({ cost_usd: 2.52 });
});

test.for<[name: string, graph: string, usages: Record<string, object[]>, calls: number, reason: RegExp]>([
  [
    'more was spent than the run may',
    row('max_cost_usd=1', 'a', 'b', 'c'),
    { a: [usd(0.6)], b: [usd(0.6)], c: [usd(0)] },
    2,
    /^max_cost_usd: the run has spent 1\.2 USD, and its limit is 1 USD/,
  ],
  [
    'the limit is reached exactly',
    row('max_cost_usd=1', 'a', 'b'),
    { a: [usd(1)], b: [usd(1)] },
    1,
    /^max_cost_usd: /,
  ],
  ['nothing may be spent', row('max_cost_usd=0', 'a'), { a: [usd(1)] }, 0, /^max_cost_usd: .*limit is 0 USD/],
  [
    'tokens',
    row('max_tokens=200', 'a', 'b', 'c'),
    { a: [usd(0)], b: [usd(0)] },
    2,
    /^max_tokens: the run has spent 300 tokens/,
  ],
  ['the last call went over', row('max_cost_usd=1', 'a'), { a: [usd(1.5)] }, 1, /^max_cost_usd: /],
  [
    'the input alone is too much',
    row('max_tokens=1000', `a [prompt="${'word '.repeat(1000)}"]`),
    { a: [usd(0)] },
    0,
    /^max_tokens: .*next call would send about 1250/,
  ],
  [
    "the input's price is too much",
    row('max_cost_usd=0.001', `a [prompt="${'word '.repeat(1000)}"]`),
    { a: [{ model: 'gpt-5.2', input_tokens: 1, output_tokens: 1 }] },
    0,
    /^max_cost_usd: .*next call would send about 0\.00218/,
  ],
  [
    'a price is not known',
    row('max_cost_usd=1', 'a'),
    { a: [{ model: 'odd', input_tokens: 1, output_tokens: 1 }] },
    0,
    /^max_cost_usd: there is no price for the model "odd"/,
  ],
  [
    'tokens are not told',
    row('max_tokens=10000', 'a', 'b'),
    { a: [{ cost_usd: 0.1 }], b: [usd(0)] },
    1,
    /^max_tokens: 1 call did not report/,
  ],
])('a run ends when %s', async ([, graph, usages, calls, reason]) => {
  await using it = await scripted(graph, usages);
  const ran = await it.start();
  const result = JSON.parse(ran.out);
  expect(result.reason).toMatch(reason);
  expect([result.status, ran.code]).toEqual(['failed', 1]);
  expect(result.spent.calls).toBe(calls);
});

test("a node's own limit holds over all its visits", async () => {
  const graph = `digraph t { start [shape=Mdiamond]; done [shape=Msquare]; a [prompt=a, max_cost_usd=1]
    more [shape=parallelogram, tool_command="test -e never"]
    start -> a -> more; more -> a [condition="outcome=fail"]; more -> done [condition="outcome=success"] }`;
  await using it = await scripted(graph, { a: [usd(0.5), usd(0.5), usd(0.5)] });
  const result = JSON.parse((await it.start()).out);
  expect(result).toMatchObject({ status: 'failed', spent: { calls: 2, cost_usd: 1 } });
  expect(result.reason).toMatch(/^max_cost_usd: node "a" has spent 1 USD.*\(max_cost_usd on the node\)/);
});

test('a limit is raised at the resume, where all that was spent still counts', async () => {
  await using it = await scripted(row('max_cost_usd=1', 'a', 'b', 'c'), {
    a: [usd(0.6)],
    b: [usd(0.6)],
    c: [usd(0.6)],
  });
  expect((await it.start()).code).toBe(1);
  const again = await it.resume('r1', { json: true });
  expect(again.code).toBe(1);
  expect(JSON.parse(again.out).reason).toMatch(/has spent 1\.2 USD/);
  const raised = await it.resume('r1', { json: true, maxCostUsd: '2' });
  expect(raised.code, raised.out).toBe(0);
  expect(JSON.parse(raised.out).spent).toMatchObject({ calls: 3, cost_usd: 1.8 });
  expect(it.json(`${run}/manifest.json`).caps).toMatchObject({ max_cost_usd: 2 });
});

test('an unknown cost passes where that is allowed, and a price makes it known in the end', async () => {
  const odd = { model: 'odd', input_tokens: 1_000_000, output_tokens: 0 };
  await using it = await scripted(row('max_cost_usd=3', 'a', 'b'), { a: [odd], b: [odd] });
  writeFileSync(
    join(it.path, 'prices.json'),
    '{"format":"factory-prices/1","dated":"2026-02-01","models":{"Odd":{"input":2,"output":1}}}',
  );
  expect((await it.start({ maxCostUsd: '0.5' })).code).toBe(1);
  const allowed = await it.resume('r1', { json: true, unknownCost: 'allow' });
  expect(allowed.code, allowed.out).toBe(0);
  expect(JSON.parse(allowed.out).spent).toMatchObject({ cost_usd: 0, unknown_cost: 2 });
  const priced = await it.start({ runId: 'r2', prices: 'prices.json' });
  expect(JSON.parse(priced.out)).toMatchObject({ status: 'failed', spent: { cost_usd: 4, unknown_cost: 0 } });
});

test.for([
  [
    '{"format":"factory-prices/1","dated":"2026-02-01","models":{"x":{"input":-1,"output":1}}}',
    /models\.x\.input/,
  ],
  ['{"format":"factory-prices/1"', /not JSON/],
  ['{"format":"factory-prices/1","dated":"today","models":{}}', /dated: must be a date/],
  [
    '{"format":"factory-prices/1","dated":"2026-02-01","models":{"x":{"in":1,"output":1}}}',
    /models\.x: Unrecognized key: "in"/,
  ],
  ['{"format":"factory-prices/1","dated":"2026-02-31","models":{}}', /dated: must be a date/],
] as const)('an invalid price file is refused with the file and the key: %s', async ([text, words]) => {
  await using it = await scripted(row('prices="prices.json"', 'a'), { a: [{}] });
  writeFileSync(join(it.path, 'prices.json'), text);
  const ran = await it.start({ json: false });
  expect(ran.code).toBe(2);
  expect(ran.err).toMatch(words);
  expect(ran.err).toContain('prices.json: ');
});

test.for([
  [{ maxCostUsd: 'much' }, /--max-cost-usd much/],
  [{ maxTokens: '-1' }, /--max-tokens -1/],
  [{ unknownCost: 'maybe' }, /--unknown-cost maybe/],
  [{ prices: 'gone.json' }, /--prices names .*gone\.json/],
  [{ parkAfter: 'soon' }, /--park-after soon/],
] as const)('a flag that makes no sense is refused: %j', async ([options, words]) => {
  await using it = await scripted(row('', 'a'), { a: [{}] });
  const ran = await it.start({ ...options, json: false });
  expect(ran.code).toBe(2);
  expect(ran.err).toMatch(words);
});

test('the reserve for verification stops agents, not checks, and the failure can be routed', async () => {
  const graph = `digraph t { max_cost_usd=1; verify_reserve="40%"
    start [shape=Mdiamond]; done [shape=Msquare]; a [prompt=a]; b [prompt=b]
    check [shape=parallelogram, tool_command="echo fine"]; judge [prompt=j, goal_gate=true]
    start -> a; a -> b; b -> check [condition="failure_class=budget"]; b -> done; check -> judge -> done }`;
  await using it = await scripted(graph, { a: [usd(0.6)], b: [usd(0.1)], judge: [usd(0.3)] });
  writeFileSync(
    join(it.path, 'agent.json'),
    it.read('agent.json').replace(/("judge":\[\{"text":)"ok"/, '$1"{\\"outcome\\":\\"success\\"}"'),
  );
  const ran = await it.start();
  expect(ran.code, ran.out + ran.err).toBe(0);
  expect(JSON.parse(ran.out).spent).toMatchObject({ calls: 2, cost_usd: 0.9 });
  expect(it.json(`${run}/b/status.json`)).toMatchObject({
    failure_class: 'budget',
    failure_reason: expect.stringMatching(/max_cost_usd: .*, 0\.4 USD are reserved for verification/),
  });
});

const key = 'sk-budget-0123456789';

async function asking(graph: string, reactions: readonly Reaction[]) {
  const server = await startModelServer(reactions);
  const it = await house({ 'p.dot': graph, 'work/x.txt': '' }, () => ({
    OPENAI_API_KEY: key,
    OPENAI_BASE_URL: server.url,
  }));
  return {
    it,
    server,
    async [Symbol.asyncDispose]() {
      await server.close();
      await it[Symbol.asyncDispose]();
    },
  };
}

test('a refused request costs nothing, an answer without usage has an unknown cost', async () => {
  await using at = await asking(row('max_cost_usd=5', 'a', 'b'), [
    { status: 500, headers: { 'retry-after-ms': '1' } },
    { text: 'one', usage: { input_tokens: 1_000_000, output_tokens: 0 } },
    { text: 'two', usage: null },
  ]);
  const ran = await at.it.run('p.dot', { runId: 'r1', workdir: 'work', json: true });
  const result = JSON.parse(ran.out);
  expect(result.spent).toMatchObject({ calls: 2, cost_usd: 1.75, unknown_cost: 1 });
  expect(result.reason).toMatch(/^max_cost_usd: the cost of 1 call is unknown/);
});

test('a limit of the run ends the work of a model with tools before the call that would break it', async () => {
  const look = (path: string): Reaction => ({ calls: [{ name: 'list', arguments: { path } }] });
  const node = 'a [prompt="ask a", agent.mode=agent]';
  await using at = await asking(row('max_tokens=60', node), [
    look('.'),
    look('./'),
    look('.//'),
    look('./.'),
  ]);
  const ran = await at.it.run('p.dot', { runId: 'r1', workdir: 'work', json: true });
  const result = JSON.parse(ran.out);
  expect(result).toMatchObject({
    status: 'failed',
    exit_code: 1,
    spent: { input_tokens: 33, output_tokens: 21 },
  });
  expect(result.reason).toMatch(
    /^max_tokens: the run has spent 54 tokens, the next call would send about \d+ tokens, and its limit is 60 tokens \(max_tokens on the graph, --max-tokens\)/,
  );
  expect(at.server.requests).toHaveLength(3);
});

test.for(['max_cost_usd=5', 'max_tokens=500'])(
  'under %s an agent that tells nothing of its tokens ends the run after its first call, with the setting that lets it pass',
  async (limit) => {
    const node = (id: string) =>
      `${id} [prompt=x, agent=command, command.run="sh -c 'echo done'", response_format=text]`;
    await using it = await house({ 'p.dot': row(limit, node('a'), node('b')), 'work/x.txt': '' });
    const ran = await it.run('p.dot', { runId: 'r1', workdir: 'work', json: true });
    const result = JSON.parse(ran.out);
    expect(result).toMatchObject({ status: 'failed', exit_code: 1, spent: { calls: 1, unknown_cost: 1 } });
    expect(result.reason).toContain(limit.split('=')[0]);
    expect(result.reason).toContain('unknown_cost=allow on the graph or --unknown-cost allow');
    expect(result.reason).not.toContain('--prices');
    const on = await it.resume('r1', { unknownCost: 'allow', json: true });
    expect(on.code, on.err).toBe(0);
  },
);

test('a limit on the time of a node holds over visits that were cut, however often the run is resumed', async () => {
  await using server = await startModelServer(() => ({ hang: true }));
  const env = { OPENAI_API_KEY: 'sk-wall-0123456789abcdef', OPENAI_BASE_URL: server.url };
  await using it = await house({ 'p.dot': row('workdir=none', 'a [prompt=a, max_wall=300ms]') }, () => env);
  expect((await it.run('p.dot', { runId: 'r1' })).code).toBe(1);
  for (const _ of [1, 2]) {
    const again = await it.resume('r1', { json: true });
    expect(JSON.parse(again.out).reason).toMatch(/^max_wall: node "a" took /);
  }
  expect(server.requests).toHaveLength(1);
});

test('who has lost the run asks for nothing more: a refused call is not made again', async () => {
  await using server = await startModelServer(() => {
    // Another engine takes the run over while the first one waits for its answer.
    const locks = join(it.path, run, 'lock');
    writeFileSync(join(locks, '000002.json'), readFileSync(join(locks, '000001.json')));
    return { status: 503, headers: { 'retry-after': '0' } };
  });
  const env = { OPENAI_API_KEY: 'sk-lost-0123456789abcdef', OPENAI_BASE_URL: server.url };
  await using it = await house({ 'p.dot': row('workdir=none', 'a') }, () => env);
  await expect(it.run('p.dot', { runId: 'r1' })).rejects.toThrow('taken over');
  expect(server.requests).toHaveLength(1);
});

test('a visit tells what all of its attempts have used', async () => {
  const fails = { fail: { class: 'infra', reason: 'gone' }, usage: { input_tokens: 10, output_tokens: 1 } };
  const answers = { a: [fails, { text: 'ok', usage: { input_tokens: 20, output_tokens: 2 } }] };
  await using it = await house({
    'p.dot': row('workdir="none"', 'a [prompt="ask", max_retries=1, retry_delay=1ms]'),
    'agent.json': JSON.stringify({ format: 'factory-script/1', answers }),
  });
  const ran = await it.run('p.dot', { runId: 'r1', script: 'agent.json', agent: 'scripted', quiet: true });
  expect(ran.code, ran.err).toBe(0);
  const visit = it
    .records(`${run}/journal.jsonl`)
    .filter(({ type }) => type === 'Visit')
    .find(({ node }) => node === 'a');
  expect(visit?.usage).toMatchObject({ input_tokens: 30, output_tokens: 3 });
});

test('an agent whose own time is longer than that of the run is ended with it', async () => {
  await using it = await house(
    {
      'p.dot': row(
        'workdir="none" default_timeout=100ms max_wall=1s',
        'a [prompt="ask", agent.backend=codex, codex.timeout_seconds=60]',
      ),
    },
    () => ({ STAND_IN: 'sleep 50', ATTRACTOR_CODEX_PATH: join(root, 'test/support/codex-stand-in.sh') }),
  );
  const began = Date.now();
  const ran = await it.run('p.dot', { runId: 'r1', json: true, quiet: true });
  expect(Date.now() - began).toBeLessThan(40_000);
  expect(JSON.parse(ran.out).reason).toMatch(/^max_wall: /);
  const { cause } = JSON.parse((await it.show('r1', { json: true })).out);
  expect(cause.lines).toContain('it was executing a@1');
});
