import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkDirs, isWithin, realOf } from '../../src/workspace/roots.ts';
import { asHeldByModes, tempFolder } from './folders.ts';

test.for([
  ['work', 'runs'],
  ['work', 'work/.factory/runs'],
  ['work', 'work/deep/er/still'],
  ['work', 'work-runs'],
  ['link-to-work', 'runs'],
  ['link-to-work', 'link-to-work/runs'],
  ['work/', 'missing/../runs'],
] as const)('the workdir %s goes with the runs directory %s', async ([workdir, runsdir]) => {
  await using it = tempFolder();
  mkdirSync(join(it.path, 'work'));
  symlinkSync('work', join(it.path, 'link-to-work'));
  expect(checkDirs({ workdir: join(it.path, workdir), runsdir: join(it.path, runsdir) })).toBeUndefined();
});

test.for([
  ['gone', 'runs', 'workdir', 'does not exist'],
  ['dangling', 'runs', 'workdir', 'does not exist'],
  ['file', 'runs', 'workdir', 'is not a folder'],
  ['file/x', 'runs', 'workdir', 'cannot be reached'],
  ['loop', 'runs', 'workdir', 'cannot be reached: its symbolic links form a loop'],
  ['up/work', 'up/work', 'runsdir', 'is the workdir itself'],
  ['up/work', 'up/work/x/..', 'runsdir', 'is the workdir itself'],
  ['up/work', 'link-to-work', 'runsdir', 'is the workdir itself'],
  ['link-to-work', 'up/work', 'runsdir', 'is the workdir itself'],
  ['up/work', 'up', 'runsdir', 'contains the workdir'],
  ['link-to-work', 'up', 'runsdir', 'contains the workdir'],
  ['up/work', '.', 'runsdir', 'contains the workdir'],
  ['up/work', '/', 'runsdir', 'contains the workdir'],
  ['up/work', 'file', 'runsdir', 'is not a folder'],
  ['up/work', 'file/x/y', 'runsdir', 'cannot be reached'],
  ['up/work', 'dangling', 'runsdir', 'leads nowhere'],
] as const)(
  'the workdir %s with the runs directory %s is refused for the %s, which %s',
  async ([workdir, runsdir, which, words]) => {
    await using it = tempFolder();
    mkdirSync(join(it.path, 'up/work'), { recursive: true });
    writeFileSync(join(it.path, 'file'), '');
    symlinkSync('up/work', join(it.path, 'link-to-work'));
    symlinkSync('nowhere', join(it.path, 'dangling'));
    symlinkSync('loop', join(it.path, 'loop'));
    const at = (path: string): string => (path === '/' ? '/' : `${it.path}/${path}`);
    expect(checkDirs({ workdir: at(workdir), runsdir: at(runsdir) })).toMatchObject({
      which,
      message: expect.stringContaining(words),
    });
  },
);

test('a workdir that this user may not read is refused, and so is one behind a closed folder', async () => {
  await using it = tempFolder();
  mkdirSync(join(it.path, 'closed/inner'), { recursive: true });
  chmodSync(join(it.path, 'closed'), 0);
  const problems = await asHeldByModes(it.path, async () => [
    checkDirs({ workdir: join(it.path, 'closed'), runsdir: join(it.path, 'runs') }),
    checkDirs({ workdir: join(it.path, 'closed/inner'), runsdir: join(it.path, 'runs') }),
  ]);
  expect(problems).toMatchObject([
    { which: 'workdir', message: expect.stringContaining('cannot be read') },
    { which: 'workdir', message: expect.stringContaining('cannot be reached') },
  ]);
});

test('a real path is returned also behind a loop of links or a closed folder', async () => {
  await using it = tempFolder();
  symlinkSync('loop', join(it.path, 'loop'));
  mkdirSync(join(it.path, 'closed/inner'), { recursive: true });
  chmodSync(join(it.path, 'closed'), 0);
  await asHeldByModes(it.path, async () => {
    for (const path of ['loop/x', 'closed/inner'])
      expect(realOf(join(it.path, path))).toBe(join(it.path, path));
  });
});

test('everything lies in the root', () => {
  expect(isWithin('/', '/a')).toBe(true);
  expect(isWithin('/a', '/ab')).toBe(false);
});

test('a runs directory that shows the workdir under another name is refused', async (context) => {
  await using it = tempFolder();
  const [workdir, runsdir] = [join(it.path, 'up/work'), join(it.path, 'runs')];
  for (const path of [workdir, runsdir]) mkdirSync(path, { recursive: true });
  if (spawnSync('mount', ['--bind', join(it.path, 'up'), runsdir]).status !== 0)
    return context.skip('nothing may be mounted here');
  try {
    expect(checkDirs({ workdir, runsdir })).toMatchObject({
      which: 'runsdir',
      message: expect.stringContaining('contains the workdir'),
    });
  } finally {
    spawnSync('umount', [runsdir]);
  }
});
