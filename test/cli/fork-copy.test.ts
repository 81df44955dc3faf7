/** What a fork copies of the forked run, and what its manifest says of the differences. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { house, treeOf } from '../support/house.ts';
import { onDisk } from '../support/temporary.ts';

onDisk();

const runs = '.factory/runs';
const usage = { model: 'm', input_tokens: 100, output_tokens: 50, cost_usd: 0.6 };
const twice = `digraph twice {
  workdir="none"
  goal="G"
  start [shape=Mdiamond]
  answer [shape=box, prompt="Say it", response_file="answer.txt", allowed_write_paths="answer.txt"]
  note [shape=parallelogram, tool_command="cat answer.txt >> log.txt; pwd -P > place.txt"]
  enough [shape=parallelogram, tool_command="test $(wc -l < log.txt) -ge 2"]
  exit [shape=Msquare]
  start -> answer -> note -> enough
  enough -> exit [condition="outcome=success"]
  enough -> answer [condition="outcome=fail"]
}`;
const files = {
  'twice.dot': twice,
  'script.json': JSON.stringify({
    format: 'factory-script/1',
    answers: { answer: ['one\n', 'two\n', 'three\n'].map((text) => ({ text, usage })) },
  }),
};

/** Without bubblewrap, which shows a stage its workspace at a place that is the same for all. */
async function ran(more: Readonly<Record<string, string>> = {}) {
  const it = await house({ ...files, ...more }, () => ({ FACTORY_SANDBOX: 'none' }));
  const told = await it.run('twice.dot', {
    agent: 'scripted',
    script: 'script.json',
    runId: 'base',
    quiet: true,
  });
  expect(told.code, told.err).toBe(0);
  return it;
}

test('every copied checkpoint can be checked out when the forked run is gone', async () => {
  await using it = await ran();
  const moments = ['start', 'answer@1', 'note@1', 'enough@1', 'answer@2', 'note@2'];
  const treeAt = async (run: string, at: string, before: boolean) => {
    const folder = `${run}-${at}-${before}`;
    const told = await it.checkout(run, folder, { at, before });
    expect(told.code, told.err).toBe(0);
    return treeOf(join(it.path, folder));
  };
  const all = async (run: string) => {
    const trees = [];
    for (const at of moments) for (const before of [true, false]) trees.push(await treeAt(run, at, before));
    return trees;
  };
  const there = await all('base');
  expect(new Set(there.map((tree) => JSON.stringify(tree))).size).toBe(5);
  expect((await it.fork('base', { at: 'note@2', runId: 'f', quiet: true })).code).toBe(0);
  rmSync(join(it.path, runs, 'base'), { recursive: true });
  expect(await all('f')).toEqual(there);
});

test('the cost of the copied executions counts for the fork, and no more than that', async () => {
  await using it = await ran();
  const spent = (run: string) => it.json(`${runs}/${run}/checkpoint.json`).spent;
  expect(spent('base')).toMatchObject({ calls: 2, cost_usd: 1.2 });
  for (const at of ['note@1', 'note@2']) {
    const runId = at.replace('@', '-');
    const told = await it.fork('base', { at, runId, quiet: true });
    expect(told.code, told.err).toBe(0);
    expect(spent(runId)).toEqual(spent('base'));
  }
  // The second call would be the one too many.
  const capped = await it.fork('base', { at: 'note@1', runId: 'capped', maxCostUsd: '0.5', quiet: true });
  expect(capped.code).toBe(1);
  expect(
    it
      .records(`${runs}/capped/journal.jsonl`)
      .filter(({ type }) => type === 'Visit')
      .filter((one) => one['node'] === 'answer'),
  ).toHaveLength(1);
});

test('a fork warns of artifacts that no longer exist, and has no hashes of them', async () => {
  await using it = await ran();
  rmSync(join(it.path, runs, 'base/answer/visits/1'), { recursive: true });
  const told = await it.fork('base', { at: 'note@2', runId: 'f' });
  expect(told.code, told.err).toBe(0);
  expect(told.err).toContain('the artifacts of answer@1 no longer exist and are not copied');
  const visits = it
    .records(`${runs}/f/journal.jsonl`)
    .filter(({ type }) => type === 'Visit')
    .filter((one) => one['node'] === 'answer');
  expect(visits.map((one) => [one['visit'], one['artifacts'] !== undefined])).toEqual([
    [1, false],
    [2, true],
  ]);
});

test('a goal that the new pipeline does not have is removed', async () => {
  await using it = await ran({ 'aimless.dot': twice.replace('goal="G"', '') });
  const goal = (run: string) => it.json(`${runs}/${run}/checkpoint.json`).context['graph.goal'];
  expect(goal('base')).toBe('G');
  const told = await it.fork('base', { at: 'note@1', pipeline: 'aimless.dot', runId: 'f', quiet: true });
  expect(told.code, told.err).toBe(0);
  expect(goal('f')).toBeUndefined();
  expect(it.records(`${runs}/f/journal.jsonl`)[0]?.['context']).not.toHaveProperty(['graph.goal']);
});

test('the type of a package around the runs does not reach the product', async () => {
  await using it = await ran({ 'package.json': '{"type":"module"}' });
  expect((await it.fork('base', { at: 'note@2', runId: 'f', quiet: true })).code).toBe(0);
  expect(it.json(`${runs}/f/package.json`)).toEqual(it.json(`${runs}/base/package.json`));
});

test('a run that was moved is forked, with paths in its records those of the fork', async () => {
  await using it = await house({
    'fails.dot': `digraph g {
      workdir="none"
      start [shape=Mdiamond]
      bad [shape=parallelogram, tool_command="echo why >&2; exit 3"]
      look [shape=parallelogram, tool_command="cp $FACTORY_CONTEXT seen.json"]
      exit [shape=Msquare]
      start -> bad
      bad -> look [condition="outcome=fail"]
      look -> exit
    }`,
  });
  expect((await it.run('fails.dot', { runId: 'base', quiet: true })).code).toBe(0);
  renameSync(join(it.path, runs), join(it.path, 'moved'));
  const told = await it.fork('base', { at: 'bad', runId: 'f', runsdir: 'moved', quiet: true });
  expect(told.code, told.err).toBe(0);
  expect(it.json('moved/f/workspace/seen.json')['last_failure.artifacts'].tool_stderr).toBe(
    join(it.path, 'moved/f/bad/tool.stderr.txt'),
  );
});

const a = 'a [shape=box, prompt="@a.md"]';
const b = 'b [shape=box, prompt="@b.md"]';
const pipelineOf = (more: string) =>
  `digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]; ${more}; start -> a -> b -> exit }`;
const answers = (said: string) =>
  JSON.stringify({ format: 'factory-script/1', answers: { a: [{ text: said }], b: [{ text: said }] } });
const promptFiles = {
  'g.dot': pipelineOf(`${a}; ${b}`),
  'a.md': 'A',
  'b.md': 'B',
  'one.json': answers('one'),
  'two.json': answers('two'),
  'three.json': answers('three'),
};
const manifestOf = (run: string) => `.factory/runs/${run}/manifest.json`;
const stub = { agent: 'stub', runId: 'base', quiet: true };
const fork = { at: 'a@1', runId: 'f', quiet: true };

test('prompts in another order are not a change', async () => {
  await using it = await house(promptFiles);
  expect((await it.run('g.dot', stub)).code).toBe(0);
  writeFileSync(join(it.path, 'g.dot'), pipelineOf(`${b}; ${a}`));
  expect((await it.fork('base', { ...fork, pipeline: 'g.dot' })).code).toBe(0);
  expect(it.json(manifestOf('f')).forked_from.changed).toEqual(['pipeline']);
  writeFileSync(join(it.path, 'b.md'), 'C');
  expect((await it.fork('base', { ...fork, runId: 'ff', pipeline: 'g.dot' })).code).toBe(0);
  expect(it.json(manifestOf('ff')).forked_from.changed).toEqual(['pipeline', 'prompts']);
});

test.for([
  [{}, ['pipeline', 'script']],
  [{ script: 'three.json' }, ['pipeline']],
] as const)(
  'the script of another pipeline answers unless the run was given one: %j',
  async ([given, changed]) => {
    const bundling = (name: string) => pipelineOf(`agent_script="${name}"; ${a}; ${b}`);
    await using it = await house({
      ...promptFiles,
      '1.dot': bundling('one.json'),
      '2.dot': bundling('two.json'),
    });
    const ran = await it.run('1.dot', { agent: 'scripted', runId: 'base', quiet: true, ...given });
    expect(ran.code, ran.err).toBe(0);
    const forked = await it.fork('base', { ...fork, pipeline: '2.dot' });
    expect(forked.code, forked.err).toBe(0);
    expect(it.json(manifestOf('f')).forked_from.changed).toEqual(changed);
  },
);

test('a fork has the sandbox that is asked for, not that of the forked run', async () => {
  await using it = await house(promptFiles);
  expect((await it.run('g.dot', stub)).code).toBe(0);
  expect((await it.fork('base', { ...fork, sandbox: 'none' })).code).toBe(0);
  const manifest = it.json(manifestOf('f'));
  expect(manifest.sandbox).toMatchObject({ asked: 'none', by: '--sandbox', used: 'group' });
  expect(manifest.not_enforced).toEqual(manifest.sandbox.missing);
});
