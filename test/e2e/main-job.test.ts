/** The main job as a new user runs it: one command without a key, and the same command with a model. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { runResultSchema } from '../../src/core/records/result.ts';
import { cleanEnv, home, root } from '../support/in-process.ts';
import { type Reaction, startModelServer } from '../support/model-server.ts';

const pipeline = join(root, 'pipelines/compile-and-build.dot');
const started = (records: readonly Record<string, unknown>[]): unknown[] =>
  records.filter((r) => r['type'] === 'StageStarted').map((r) => r['node_id']);

test('without a key: the spec becomes verified commits, with a revision, two roll-backs and a proof', async () => {
  await using it = await home();
  const ran = await it.factory(['run', pipeline, '--run-id', 'r1', '--json']);
  expect(ran.code, ran.stderr).toBe(0);
  const result = runResultSchema().parse(JSON.parse(ran.stdout));
  expect(result).toMatchObject({ status: 'completed', exit_node: 'exit', run_id: 'r1' });
  // Then what accepted the last order.
  expect(result.proof?.slice(0, 2)).toEqual(['bash scripts/verify.sh', 'node bin/linkcheck.js --help']);
  expect(result.commits.map((c) => [c.work_order, c.attempts])).toEqual([
    ['WO-01', 1],
    ['WO-02', 2],
    ['WO-03', 2],
    ['WO-04', 1],
  ]);
  const events = await it.records('.factory/runs/r1/events.jsonl');
  const visited = started(events);
  expect(visited.filter((node) => ['plan', 'revise', 'propose'].includes(String(node)))).toEqual([
    'plan',
    'revise',
    'propose',
    'propose',
    'propose',
    'propose',
    'propose',
    'propose',
  ]);
  expect(visited.filter((node) => node === 'rollback')).toHaveLength(2);
  expect(visited.slice(-3)).toEqual(['proof', 'judge', 'exit']);
  // The example's scenarios are sealed from the first node on.
  const judged = await it.json('.factory/runs/r1/judge/status.json');
  expect(judged).toMatchObject({
    outcome: 'success',
    notes: '4 of 4 scenarios pass, floor held, product and scenario shared one user',
  });
  expect(await it.json('.factory/runs/r1/manifest.json')).toMatchObject({
    holdout: { from: join(root, 'examples/linkcheck/scenarios'), paths: ['scripts/scenarios'], files: 4 },
  });
  expect(events[0]).toMatchObject({ type: 'PipelineStarted', agent: expect.stringContaining('scripted') });
  const reasons = events.filter((r) => r['type'] === 'StageFailed').map((r) => String(r['failure_reason']));
  expect(reasons).toEqual([
    expect.stringMatching(/^the plan has 2 errors: /),
    expect.stringMatching(/^write_scope_violation: /),
    expect.stringMatching(/^verification command failed: /),
  ]);
  expect(await it.read('.factory/.gitignore')).toBe('*\n');

  const broken = ['fork', 'r1', '--at', 'judge@1', '--before', '--json'];
  const unjudged = await it.factory(broken, { env: { SCENARIO_TIMEOUT: '1ms' } });
  expect(unjudged.code, unjudged.stderr).toBe(1);
  expect(JSON.parse(unjudged.stdout)).toMatchObject({ exit_node: 'exit_judge_broken' });

  const delivered = await it.factory(['deliver', 'r1', '--to', 'product']);
  expect(delivered.code, delivered.stderr).toBe(0);
  const env = cleanEnv({ HOME: it.path });
  const product = join(it.path, 'product');
  const { stdout: log } = await execa(
    'git',
    ['log', '--reverse', '--format=%s|%(trailers:key=Work-Order,valueonly,separator=%x2C)|%an'],
    { cwd: product, env, extendEnv: false },
  );
  expect(log.split('\n')).toHaveLength(4);
  expect(log.split('\n')[0]).toMatch(/^WO-01: .+\|WO-01\|.+$/);
  const tested = await execa('npm', ['test'], { cwd: product, env, extendEnv: false, reject: false });
  expect(tested.exitCode, tested.stdout).toBe(0);
}, 180_000);

test('without a key: another spec is refused before anything is created', async () => {
  await using it = await home({ 'my.md': '# Something else\n' });
  const ran = await it.factory(['run', pipeline, '--var', 'spec=my.md']);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain('OPENAI_API_KEY');
  expect(await it.list('.')).toEqual(['my.md']);
});

/** With chat completions only, and without schemas for answers. */
const small = (answers: readonly Reaction[]): Parameters<typeof startModelServer> => {
  let given = 0;
  const refusal = { status: 400, body: { error: { message: 'response_format is not supported' } } };
  return [
    ({ body = {} }) => ('response_format' in body ? refusal : (answers[given++] ?? { status: 500 })),
    ['chat'],
  ];
};
const servers: readonly [string, (answers: readonly Reaction[]) => Parameters<typeof startModelServer>][] = [
  ['the Responses API', (answers) => [answers]],
  ['chat completions and nothing else', small],
];
test.for(servers)(
  'with a key: a model answers over %s, and another spec is built upon a folder',
  async ([name, serving]) => {
    const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
    const plan = {
      system_overview: ['One module.'],
      verify_contract: { command: 'node --test', requires: [{ kind: 'file_exists', path: 'add.test.js' }] },
      work_orders: [
        {
          id: 'WO-01',
          title: 'Add numbers',
          intent: 'A function that adds.',
          preconditions: [],
          postconditions: ['add.js', 'add.test.js'].map((path) => ({ kind: 'file_exists', path })),
          allowed_files: ['add.js', 'add.test.js'],
          forbidden: [],
          acceptance_commands: [
            'node -e "import(\'./add.js\').then((m) => process.exit(m.add(2, 3) === 5 ? 0 : 1))"',
          ],
          context_files: ['add.js', 'add.test.js'],
          notes: null,
        },
      ],
    };
    const write = (path: string, content: string) => ({ path, base_sha256: empty, content });
    const test =
      "import test from 'node:test';\nimport assert from 'node:assert';\nimport { add } from './add.js';\ntest('adds', () => assert.equal(add(1, 2), 3));\n";
    const answers: readonly Reaction[] = [
      { text: JSON.stringify(plan) },
      { text: 'I would rather write prose.' },
      {
        text: JSON.stringify({
          summary: 'wrong',
          writes: [write('add.js', 'export const add = (a, b) => a - b;\n'), write('add.test.js', test)],
        }),
      },
      {
        text: JSON.stringify({
          summary: 'right',
          writes: [write('add.js', 'export const add = (a, b) => a + b;\n'), write('add.test.js', test)],
        }),
      },
    ];
    await using server = await startModelServer(...serving(answers));
    await using it = await home({
      'spec.md': '# Adder\n\nA function that adds two numbers.\n',
      'base/package.json': '{"type":"module"}\n',
    });
    const env = {
      OPENAI_API_KEY: 'sk-test-0123456789',
      OPENAI_BASE_URL: server.url,
      FACTORY_MODEL: 'some-model',
    };
    const ran = await it.factory(
      ['run', pipeline, '--var', 'spec=spec.md', '--workdir', 'base', '--run-id', 'r1', '--json'],
      { env },
    );
    expect(ran.code, ran.stderr).toBe(0);
    const result = runResultSchema().parse(JSON.parse(ran.stdout));
    expect(result.commits).toMatchObject([{ work_order: 'WO-01', attempts: 3 }]);
    expect(result.agent).toContain('openai some-model');
    // What the server does not have is asked of it once in the whole run.
    expect(server.requests).toHaveLength(name === 'the Responses API' ? 4 : 4 + 2);
    const asked = server.requests.slice(-4).map((request) => JSON.stringify(request.body));
    expect(asked[0]).toContain('A function that adds two numbers.');
    expect(asked[2]).toContain('llm_output_invalid');
    expect(asked[3]).toContain('verify_failed');
    // No file of the run holds the key.
    const found = await execa('grep', ['-rl', 'sk-test-0123456789', it.path], { reject: false });
    expect(found.stdout).toBe('');
    expect(await it.list('base')).toEqual(['package.json']);
  },
);

const wrongKey = {
  status: 401,
  body: { error: { message: 'Incorrect API key', code: 'invalid_api_key' } },
};
const noModel = { status: 404, body: { error: { message: 'no such model', code: 'model_not_found' } } };
test.for([
  ['401 with a wrong key', wrongKey, 3, 'exit_model_failed', 'key', 1],
  ['404 with an unknown model', noModel, 3, 'exit_model_failed', 'model', 1],
  ['an empty answer', { text: '' }, 3, 'exit_model_failed', 'nothing', 1],
  ['a refusal', { refusal: 'not this one' }, 3, 'exit_model_failed', 'refused: not this one', 1],
  ['prose instead of a plan', { text: 'Here is my plan: be bold.' }, 4, 'exit_invalid_plan', '', 5],
] as const)(
  'with a key: %s ends the run with its exit code and reason',
  async ([, reaction, code, exit, word, calls]) => {
    await using server = await startModelServer(() => reaction);
    await using it = await home();
    const env = { OPENAI_API_KEY: 'sk-test-0123456789', OPENAI_BASE_URL: server.url };
    const ran = await it.factory(['run', pipeline, '--run-id', 'r1'], { env });
    expect(ran.code, ran.stderr).toBe(code);
    expect(ran.stdout).toContain(exit);
    expect(ran.stdout).not.toContain('could not be asked');
    expect(ran.stdout.toLowerCase()).toContain(word);
    expect(server.requests.length).toBeGreaterThanOrEqual(calls);
  },
);

test('the pipeline of both halves is the two halves', async () => {
  const { readGraph } = await import('../../src/dot/read.ts');
  const read = (name: string) => {
    const { graph } = readGraph(name, readFileSync(join(root, 'pipelines', name), 'utf8'));
    if (graph === undefined) throw new Error(`${name} does not read`);
    return graph;
  };
  const both = read('compile-and-build.dot');
  for (const half of [read('compile.dot'), read('build.dot')]) {
    for (const node of half.nodes.values()) {
      if (node.id === 'exit') continue;
      const attrs = (n: typeof node | undefined) =>
        Object.fromEntries([...(n?.attrs.values() ?? [])].map((a) => [a.key, a.value.text]));
      expect(attrs(both.nodes.get(node.id)), `${half.file}: ${node.id}`).toEqual(attrs(node));
    }
    const edges = (g: typeof both) => g.edges.map((e) => `${e.from} -> ${e.to} [${e.conditionText}]`);
    const joined = half.file === 'compile.dot' ? /^emit -> exit / : /^(start ->|proof -> exit) /;
    expect(edges(both)).toEqual(expect.arrayContaining(edges(half).filter((edge) => !joined.test(edge))));
  }
});
