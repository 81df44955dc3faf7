/** The cost of a run is kept when its process is killed, and includes the cost of nested runs. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Options } from '../support/cli.ts';
import { home, root } from '../support/in-process.ts';
import { type Reaction, startModelServer } from '../support/model-server.ts';

const million = { input_tokens: 1_000_000, output_tokens: 0 };

const key = { OPENAI_API_KEY: 'sk-e2e-0123456789abcdef' };

/** A model server that kills factory at its second request, and answers all others. */
async function killingServer(answer: (index: number) => Reaction = () => ({ text: 'ok', usage: million })) {
  let kill: (() => void) | undefined;
  const server = await startModelServer((_request, index) => {
    if (index !== 1) return answer(index);
    kill?.();
    return { hang: true };
  });
  const watch: NonNullable<Options['watch']> = (_line, process) => {
    kill = () => process.kill('SIGKILL');
  };
  return {
    requests: server.requests,
    options: { env: { ...key, OPENAI_BASE_URL: server.url }, watch },
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** A pipeline of these nodes, each followed by the next. */
const chain = (names: string, nodes: string, graph = '') =>
  `digraph t { ${graph}; start [shape=Mdiamond]; done [shape=Msquare]; ${nodes}; start -> ${names} -> done }`;

test('a call that kill -9 interrupted counts what was sent, and earlier calls still count', async () => {
  await using server = await killingServer();
  const nodes = `a [prompt=a]; b [prompt="${'word '.repeat(8000)}"]`;
  await using it = await home({ 'p.dot': chain('a -> b', nodes, 'max_cost_usd=10; workdir=none') });
  const killed = await it.program(['run', 'p.dot', '--run-id', 'r1'], server.options);
  expect(killed.signal).toBe('SIGKILL');
  const ran = await it.factory(['resume', 'r1', '--json'], { env: server.options.env });
  expect(ran.code, ran.stderr).toBe(0);
  // 1.75 USD a million: two whole calls, and 10,000 tokens that were sent for the interrupted one.
  expect(JSON.parse(ran.stdout).spent).toMatchObject({
    calls: 3,
    cut: 1,
    cost_usd: 3.5175,
    unknown_cost: 0,
    input_tokens: 2_010_000,
  });
});

test('a run that a node starts shares the limits, and its cost counts in both', async () => {
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

test.for([
  ['the flag over the variable', ['--prices', 'prices.json'], { FACTORY_PRICES: 'others.json' }, ''],
  ['the attribute', [], {}, 'prices="prices.json"'],
] as const)(
  'prices that %s names also apply to runs that a node starts',
  async ([, flags, env, attribute]) => {
    const prices = (input: number) =>
      JSON.stringify({
        format: 'factory-prices/1',
        dated: '2026-02-01',
        models: { Odd: { input, output: 1 } },
      });
    const usage = { model: 'odd', ...million };
    await using it = await home({
      'work/inner.dot': `digraph inner { workdir=none; start [shape=Mdiamond]; done [shape=Msquare]
      a [prompt=a]; b [prompt=b]; start -> a -> b -> done }`,
      'work/agent.json': JSON.stringify({
        format: 'factory-script/1',
        answers: { a: [{ text: 'ok', usage }], b: [{ text: 'ok', usage }] },
      }),
      'prices.json': prices(2),
      'others.json': prices(200),
      'outer.dot': `digraph outer { max_cost_usd=10; ${attribute}; start [shape=Mdiamond]; done [shape=Msquare]
      t [shape=parallelogram, tool_command="factory run inner.dot --agent scripted --script agent.json"]
      start -> t -> done }`,
    });
    const ran = await it.factory(
      ['run', 'outer.dot', '--run-id', 'r1', '--workdir', 'work', '--json', ...flags],
      { env },
    );
    expect(ran.code, ran.stderr).toBe(0);
    expect(JSON.parse(ran.stdout).spent).toMatchObject({ calls: 2, cost_usd: 4, unknown_cost: 0 });
    expect(await it.json('.factory/runs/r1/t/prices.json')).toHaveProperty('models', {
      odd: { input: 2, output: 1 },
    });
  },
);

test.for([
  ['', 'unknown_cost=allow', 1],
  ['unknown_cost=allow', 'max_cost_usd=1', 2],
] as const)(
  'the run that sets a limit decides whether unknown costs pass it, also in runs that its nodes start: %s above, %s below',
  async ([above, below, calls]) => {
    await using it = await home({
      'work/inner.dot': `digraph inner { ${below}; workdir=none; start [shape=Mdiamond]; done [shape=Msquare]
      a [prompt=a, agent=command, command.run="echo hi", response_format=text]
      b [prompt=b, agent=command, command.run="echo ho", response_format=text]; start -> a -> b -> done }`,
      'outer.dot': `digraph outer { max_cost_usd=1; ${above}; start [shape=Mdiamond]; done [shape=Msquare]
      t [shape=parallelogram, tool_command="factory run inner.dot"]; start -> t -> done }`,
    });
    const ran = await it.factory(['run', 'outer.dot', '--run-id', 'r1', '--workdir', 'work', '--json']);
    const { spent, status } = JSON.parse(ran.stdout);
    expect([spent.unknown_cost, status], ran.stderr).toEqual([calls, calls === 2 ? 'completed' : 'failed']);
  },
);

test('after kill -9 during a tool-using session, reported usage still counts, and the request in progress too', async () => {
  const list = { name: 'list', arguments: { path: '.' } };
  await using server = await killingServer((index) =>
    index === 0 ? { calls: [list], usage: million } : { text: 'done', usage: million },
  );
  const node = 'a [prompt=a, agent.mode=agent, response_format=text]';
  await using it = await home({ 'p.dot': chain('a', node, 'max_cost_usd=10'), 'w/x.txt': 'x' });
  await it.program(['run', 'p.dot', '--run-id', 'r1', '--workdir', 'w'], server.options);
  const ran = await it.factory(['resume', 'r1', '--json'], { env: server.options.env });
  const { spent } = JSON.parse(ran.stdout);
  expect(spent, ran.stderr).toMatchObject({ calls: 2, cut: 1, unknown_cost: 0, unknown_tokens: 0 });
  expect(spent.input_tokens).toBeGreaterThan(1_000_000 * (server.requests.length - 1));
  expect(spent.cost_usd).toBeGreaterThan(1.75 * (server.requests.length - 1));
});

test('after kill -9 during an agent program, usage that it reported counts, and the rest is unknown', async () => {
  const told = (id: string, tokens: number) =>
    `say '{"type":"assistant","message":{"id":"${id}","usage":{"input_tokens":${tokens},"output_tokens":5},"content":[]}}'`;
  const until =
    'while [ $(grep -c CallTold "$FACTORY_NODE_DIR/../journal.jsonl") -lt 2 ]; do :; done; echo now >&2';
  await using it = await home({
    'p.dot': `digraph t { max_cost_usd=10; start [shape=Mdiamond]; done [shape=Msquare]
      a [prompt=a, agent=claude, claude.model="claude-sonnet-4-5"]; start -> a -> done }`,
    'w/x.txt': 'x',
  });
  const script = `[ -e "$FACTORY_NODE_DIR/../../../../again" ] && ok || { ${told('m1', 100)}; ${told('m1', 100)}; while ! grep -q CallTold "$FACTORY_NODE_DIR/../journal.jsonl"; do :; done; ${told('m2', 200)}; ${until}; exec sleep 1000; }`;
  const env = {
    STAND_IN: script,
    FACTORY_CLAUDE_PATH: join(root, 'test/support/agent-stand-in.sh'),
    FACTORY_LOG_CLAUDE_STREAM: 'true',
  };
  const killed = await it.program(['run', 'p.dot', '--run-id', 'r1', '--workdir', 'w'], {
    env,
    watch: (line, process) => {
      if (line.includes('claude stream') && line.includes('now')) process.kill('SIGKILL');
    },
  });
  expect(killed.signal, killed.stderr).toBe('SIGKILL');
  await writeFile(join(it.path, 'again'), '');
  const stopped = await it.factory(['resume', 'r1', '--json'], { env });
  const result = JSON.parse(stopped.stdout);
  expect(result.reason).toContain('max_cost_usd');
  // 3 USD a million of input, 15 of output.
  const cut = { calls: 1, cut: 1, input_tokens: 300, output_tokens: 10, cost_usd: 0.00105, unknown_cost: 1 };
  expect(result.spent).toMatchObject(cut);
  const ran = await it.factory(['resume', 'r1', '--json', '--unknown-cost', 'allow'], { env });
  expect(ran.code, ran.stderr).toBe(0);
  expect(JSON.parse(ran.stdout).spent).toMatchObject({ calls: 2, cost_usd: 0.25105, unknown_cost: 1 });
});

test("a call of a node's nested run that kill -9 interrupted counts in the outer run", async () => {
  await using server = await killingServer();
  const nested = 'factory run inner.dot --runsdir \\"$FACTORY_NODE_DIR/runs\\"';
  await using it = await home({
    'work/inner.dot': chain('a -> b', `a [prompt=a]; b [prompt="${'word '.repeat(8000)}"]`, 'workdir=none'),
    'outer.dot': chain(
      't',
      `t [shape=parallelogram, env_pass=OPENAI_API_KEY, tool_command="${nested}"]`,
      'max_cost_usd=20',
    ),
  });
  const killed = await it.program(
    ['run', 'outer.dot', '--run-id', 'r1', '--workdir', 'work'],
    server.options,
  );
  expect(killed.signal).toBe('SIGKILL');
  const ran = await it.factory(['resume', 'r1', '--json'], { env: server.options.env });
  expect(ran.code, ran.stderr).toBe(0);
  expect(JSON.parse(ran.stdout).spent).toMatchObject({ calls: 4, cut: 1, cost_usd: 5.2675, unknown_cost: 0 });
});

test('a node that resumes its nested run, which is still suspended, suspends the outer run, without a loop', async () => {
  const limited = { status: 429, headers: { 'retry-after': '3600' } };
  await using server = await startModelServer((_request, index) => (index === 0 ? limited : { text: 'ok' }));
  await using it = await home({
    'work/inner.dot': `digraph inner { workdir=none; start [shape=Mdiamond]; done [shape=Msquare]
      a [prompt=a]; start -> a -> done }`,
    'outer.dot': `digraph outer { start [shape=Mdiamond]; done [shape=Msquare]; fix [prompt=fix, agent=fake]
      t [shape=parallelogram, env_pass=OPENAI_API_KEY, tool_command="if [ -e $INNER/i ]; then factory resume i --runsdir $INNER $NOW; else factory run inner.dot --run-id i --runsdir $INNER; fi"]
      start -> t; t -> fix [condition="outcome=fail"]; fix -> t; t -> done [condition="outcome=success"] }`,
  });
  const env = { ...key, OPENAI_BASE_URL: server.url, INNER: join(it.path, 'inner') };
  const ran = await it.factory(['run', 'outer.dot', '--run-id', 'r1', '--workdir', 'work'], { env });
  expect(ran.code, ran.stderr).toBe(75);
  const early = await it.factory(['resume', 'r1', '--now', '--json'], { env });
  expect(early.code, early.stderr).toBe(75);
  expect(JSON.parse(early.stdout)).toMatchObject({
    status: 'paused_quota',
    reason: expect.stringContaining('t: a nested run is suspended: a: '),
  });
  expect(server.requests).toHaveLength(1);
  const ended = await it.factory(['resume', 'r1', '--now'], { env: { ...env, NOW: '--now' } });
  expect(ended.code, ended.stderr).toBe(0);
});
