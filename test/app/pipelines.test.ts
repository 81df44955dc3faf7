/** Pipelines by name: those of the folder win over the bundled ones. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { offeredPipelines, pipelinePath } from '../../src/app/pipelines.ts';
import { type Home, home, root } from '../support/cli.ts';
import { call } from '../support/verb.ts';

const text =
  'digraph g { label="My own"; vars="who, spec=@a.md"; start [shape=Mdiamond]; end [shape=Msquare]; start -> end }';
let at: Home;
beforeAll(async () => {
  at = await home({
    'mine.dot': text,
    'pipelines/hello.dot': text,
    'pipelines/sp äce v1.2.dot': text,
    'broken.dot': 'digraph {',
  });
  mkdirSync(join(at.path, 'build'));
});
afterAll(() => at[Symbol.asyncDispose]());

test.each([
  ['mine', 'mine.dot'],
  ['mine.dot', 'mine.dot'],
  ['hello', 'pipelines/hello.dot'],
  ['compile-and-build', join(root, 'pipelines/compile-and-build.dot')],
  // A folder of that name is no pipeline.
  ['build', join(root, 'pipelines/build.dot')],
  ['sp äce v1.2', 'pipelines/sp äce v1.2.dot'],
  ['nothing', 'nothing'],
  ['sub/hello', 'sub/hello'],
])('%s means %s', (name, path) => {
  expect(pipelinePath(name, at.path)).toBe(path);
});

test('the list has the variables of each, and no bundled pipeline that a file hides', async () => {
  const found = await offeredPipelines(at.path);
  expect(found.map(({ name, from, valid }) => `${name} ${from} ${valid}`)).toEqual([
    'broken.dot folder false',
    'mine.dot folder true',
    'pipelines/hello.dot folder true',
    'pipelines/sp äce v1.2.dot folder true',
    'approve bundled true',
    'ask bundled true',
    'build bundled true',
    'compile-and-build bundled true',
    'compile bundled true',
    'fix-loop bundled true',
  ]);
  expect(found[1]).toMatchObject({
    title: 'My own',
    variables: [
      { name: 'who', default: null, file: false },
      { name: 'spec', default: 'a.md', file: true },
    ],
  });
});

test('factory pipelines prints them, and factory run takes a name', async () => {
  const doors = { cwd: at.path, env: { PATH: process.env['PATH'] } };
  const { out } = await call(['pipelines'], {}, doors);
  expect(out).toContain('mine.dot');
  expect(out).toMatch(/compile-and-build +Turn the spec into verified commits/);
  writeFileSync(join(at.path, 'spec.md'), '# Count words\n');
  const built = await call(['build', 'spec.md'], { agent: 'nobody' }, doors);
  expect(built).toMatchObject({ code: 2 });
  expect(built.err).toContain('nobody');
});
