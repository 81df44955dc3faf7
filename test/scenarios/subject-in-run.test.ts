/** Which lines of a workspace without a repository were changed since the run began. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { subjectInRun } from '../../src/scenarios/strength/subject-in-run.ts';
import { cleanEnv, home } from '../support/cli.ts';

test('lines that the run changed count, of files that git would take; nothing is written into either tree', async () => {
  await using it = await home({
    'base/old.js': 'one\ntwo\nthree\n',
    'base/kept.js': 'kept\n',
    'base/gone.js': 'gone\n',
    'app/old.js': 'one\n2\nthree\nfour\n',
    'app/kept.js': 'kept\n',
    'app/new.js': 'a\nb\n',
    'app/.gitignore': 'out/\n',
    // It must not hide lines.
    'app/.gitattributes': '*.js binary\n',
    'app/out/built.js': 'x\n',
    'app/.factory/in/spec.js': 'x\n',
    'scratch/x': '',
  });
  const at = (path: string) => join(it.path, path);
  const filesIn = async () => [...(await it.list('base')), ...(await it.list('app'))];
  const before = await filesIn();
  const subject = await subjectInRun(at('app'), {
    base: at('base'),
    scratch: at('scratch'),
    env: cleanEnv(),
  });
  expect(subject.files.map(({ path, lines }) => [path, [...(lines ?? [])]])).toEqual([
    ['.gitattributes', [1]],
    ['.gitignore', [1]],
    ['new.js', [1, 2]],
    ['old.js', [2, 4]],
  ]);
  expect(subject.ignored).toEqual(['.factory', 'out']);
  expect(await filesIn()).toEqual(before);
});

test('files that the commits of the run have count although git ignores them, other ignored files do not', async () => {
  await using it = await home({
    'base/lib/old.js': 'one\n',
    'base/.gitignore': 'lib/\n',
    'app/.gitignore': 'lib/\n*.py\n',
    'app/core.py': 'a\nb\n',
    'app/loose.py': 'x\n',
    'app/lib/old.js': 'one\ntwo\n',
    'app/lib/new*.js': 'n\n',
    'app/lib/built.js': 'x\n',
    'scratch/x': '',
  });
  const at = (path: string) => join(it.path, path);
  const subject = await subjectInRun(at('app'), {
    ...{ base: at('base'), scratch: at('scratch'), env: cleanEnv() },
    committed: ['core.py', 'lib/old.js', 'lib/new*.js', 'gone.js', 'lib'],
  });
  expect(subject.files.map(({ path, lines }) => [path, [...(lines ?? [])]])).toEqual([
    ['.gitignore', [2]],
    ['core.py', [1, 2]],
    ['lib/new*.js', [1]],
    ['lib/old.js', [2]],
  ]);
  expect(subject.ignored).toEqual([]);
});

test.for([true, false])('in a new product all lines count; its folder was there before: %s', async (was) => {
  await using it = await home({ 'app/new.js': 'a\nb\n', 'scratch/x': '' });
  if (was) await mkdir(join(it.path, 'base'));
  const subject = await subjectInRun(join(it.path, 'app'), {
    base: join(it.path, 'base'),
    scratch: join(it.path, 'scratch'),
    env: cleanEnv(),
  });
  expect(subject.files).toEqual([{ path: 'new.js', lines: new Set([1, 2]) }]);
});
