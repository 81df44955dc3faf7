/** What the manifest of a fork says of it: how it differs from the other run, and how its stages are confined. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';

const a = 'a [shape=box, prompt="@a.md"]';
const b = 'b [shape=box, prompt="@b.md"]';
const pipeline = (more: string) =>
  `digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]; ${more}; start -> a -> b -> exit }`;
const answers = (said: string) =>
  JSON.stringify({ format: 'factory-script/1', answers: { a: [{ text: said }], b: [{ text: said }] } });
const files = {
  'g.dot': pipeline(`${a}; ${b}`),
  'a.md': 'A',
  'b.md': 'B',
  'one.json': answers('one'),
  'two.json': answers('two'),
  'three.json': answers('three'),
};
const manifestOf = (run: string) => `.factory/runs/${run}/manifest.json`;
const stub = { agent: 'stub', runId: 'base', quiet: true };
const fork = { at: 'a@1', runId: 'f', quiet: true };

test('prompts that a pipeline names in another order are none that have changed', async () => {
  await using it = await house(files);
  expect((await it.run('g.dot', stub)).code).toBe(0);
  writeFileSync(join(it.path, 'g.dot'), pipeline(`${b}; ${a}`));
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
  'the script that another pipeline bundles answers, but where the run was given one: %j',
  async ([given, changed]) => {
    const bundling = (name: string) => pipeline(`agent_script="${name}"; ${a}; ${b}`);
    await using it = await house({ ...files, '1.dot': bundling('one.json'), '2.dot': bundling('two.json') });
    const ran = await it.run('1.dot', { agent: 'scripted', runId: 'base', quiet: true, ...given });
    expect(ran.code, ran.err).toBe(0);
    const forked = await it.fork('base', { ...fork, pipeline: '2.dot' });
    expect(forked.code, forked.err).toBe(0);
    expect(it.json(manifestOf('f')).forked_from.changed).toEqual(changed);
  },
);

test('its stages are confined as it was asked for, and not as those of the other run were', async () => {
  await using it = await house(files);
  expect((await it.run('g.dot', stub)).code).toBe(0);
  expect((await it.fork('base', { ...fork, sandbox: 'none' })).code).toBe(0);
  const manifest = it.json(manifestOf('f'));
  expect(manifest.sandbox).toMatchObject({ asked: 'none', by: '--sandbox', used: 'group' });
  expect(manifest.not_enforced).toEqual(manifest.sandbox.missing);
});
