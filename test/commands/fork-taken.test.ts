/** What a fork has of the run that it comes from, once that run is gone, moved or has lost something. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { house, treeOf } from '../support/house.ts';

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

test('every moment that is taken over can be checked out when the other run is gone', async () => {
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

test('what the visits have cost counts for the fork, and no more than those', async () => {
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
  expect(it.records(`${runs}/capped/visits.jsonl`).filter((one) => one['node'] === 'answer')).toHaveLength(1);
});

test('artifacts that the other run has lost are told of, and the fork does not vouch for them', async () => {
  await using it = await ran();
  rmSync(join(it.path, runs, 'base/answer/visits/1'), { recursive: true });
  const told = await it.fork('base', { at: 'note@2', runId: 'f' });
  expect(told.code, told.err).toBe(0);
  expect(told.err).toContain('the artifacts of answer@1 are no longer there, and not taken over');
  const visits = it.records(`${runs}/f/visits.jsonl`).filter((one) => one['node'] === 'answer');
  expect(visits.map((one) => [one['visit'], one['artifacts'] !== undefined])).toEqual([
    [1, false],
    [2, true],
  ]);
});

test('files that name the workspace of the other run are told of', async () => {
  await using it = await ran();
  const told = await it.fork('base', { at: 'note@2', runId: 'f' });
  expect(told.err).toContain(
    `${join(it.path, runs, 'base/workspace')}: a node that uses it works there, not in the copy: place.txt`,
  );
});

test('a goal that the new pipeline does not have is gone', async () => {
  await using it = await ran({ 'aimless.dot': twice.replace('goal="G"', '') });
  const goal = (run: string) => it.json(`${runs}/${run}/checkpoint.json`).context['graph.goal'];
  expect(goal('base')).toBe('G');
  const told = await it.fork('base', { at: 'note@1', pipeline: 'aimless.dot', runId: 'f', quiet: true });
  expect(told.code, told.err).toBe(0);
  expect(goal('f')).toBeUndefined();
  expect(it.records(`${runs}/f/visits.jsonl`)[0]?.['context']).not.toHaveProperty(['graph.goal']);
});

test("the type of somebody's package around the runs does not reach the product's files", async () => {
  await using it = await ran({ 'package.json': '{"type":"module"}' });
  expect((await it.fork('base', { at: 'note@2', runId: 'f', quiet: true })).code).toBe(0);
  expect(it.json(`${runs}/f/package.json`)).toEqual(it.json(`${runs}/base/package.json`));
});

test('a run that was moved is forked, and what its records say of their place becomes the place of the fork', async () => {
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

test('records that somebody has changed are told of, and the fork begins as they say now', async () => {
  await using it = await ran();
  const visits = join(it.path, runs, 'base/visits.jsonl');
  writeFileSync(visits, readFileSync(visits, 'utf8').replaceAll('"graph.goal":"G"', '"graph.goal":"H"'));
  const told = await it.fork('base', { at: 'note@1', runId: 'f' });
  expect(told.code, told.err).toBe(0);
  expect(told.err).toContain('the records of the other run are not what was written there');
});
