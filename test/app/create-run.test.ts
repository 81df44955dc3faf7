/** A run that is refused takes back what it made, and nothing of anybody else. */
import { chmod, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createRun } from '../../src/app/run/create-run.ts';
import type { Manifest } from '../../src/core/records/manifest.ts';
import { home } from '../support/cli.ts';
import { noteDisk } from '../support/disk-notes.ts';
import { diskIn } from '../workspace/disks.ts';
import { asHeldByModes } from '../workspace/folders.ts';

const wanted = (runsDir: string, begin: () => Promise<unknown>) => ({
  runId: 'r1',
  unique: 'x',
  runsDir,
  workdir: undefined,
  exclude: [],
  signal: new AbortController().signal,
  inputs: { variables: {}, files: {}, prompts: {}, schemas: {} },
  holdout: undefined,
  env: {},
  historian: {
    begin: async () => {
      await begin();
      return { problem: { code: 'x', severity: 'error' as const, message: 'no' } };
    },
    recordBase: async () => ({}),
  },
  goal: undefined,
  startNode: 'start',
  startedAt: '2026-01-01T00:00:00.000Z',
  keep: {},
  manifest: () => {
    throw new Error('not reached');
  },
});

test('the folders it made go again', async () => {
  await using it = await home();
  expect(await createRun(wanted(join(it.path, '.factory/runs'), async () => {}))).toHaveProperty('problem');
  expect(await it.list('.')).toEqual([]);
});

test('another run that was made meanwhile stays', async () => {
  await using it = await home();
  const runsDir = join(it.path, '.factory/runs');
  const other = async () => {
    await mkdir(join(runsDir, 'other'));
    await writeFile(join(runsDir, 'other/manifest.json'), '{}');
  };
  expect(await createRun(wanted(runsDir, other))).toHaveProperty('problem');
  expect(await it.list('.factory/runs')).toEqual(['other']);
  expect(await it.list('.factory')).toEqual(['.gitignore', 'runs']);
});

test('a disk that keeps no modes is refused as the place of runs, and not the workdir', async (context) => {
  await using it = await home({ 'w/a': 'x', 'l/x': '' });
  using disk = diskIn(it.path, 'FAT (FUSE)');
  if (disk === undefined) return context.skip();
  await symlink('x', join(it.path, 'l/to'));
  const refused = async (workdir: string | undefined) => {
    const run = wanted(join(disk.path, 'runs'), async () => {});
    const made = await createRun({ ...run, workdir, historian: undefined });
    return 'problem' in made ? made.problem : undefined;
  };
  const fix = 'name another folder with --runsdir';
  expect(await refused(join(it.path, 'w'))).toMatchObject({ code: 'runsdir', fix });
  expect(await refused(join(it.path, 'l'))).toMatchObject({ fix: expect.stringContaining(fix) });
  expect(await it.list('disk')).toEqual([]);
});

test("the package around the runs directory does not reach the product's files", async () => {
  await using it = await home({
    'package.json': '{"type":"module"}',
    'p.dot':
      'digraph g { workdir="none" start [shape=Mdiamond] t [shape=parallelogram, tool_command="echo \'require(\\"fs\\")\' > a.js && node a.js"] exit [shape=Msquare] start -> t -> exit }',
  });
  const ran = await it.factory(['run', 'p.dot']);
  expect(ran.code, ran.stderr).toBe(0);
});

test('a signal while the workdir is copied ends the copy, and nothing of the run is left', async () => {
  await using it = await home({ 'work/a.txt': 'a', 'work/b.txt': 'b' });
  const { historian: _, ...plain } = wanted(join(it.path, '.factory/runs'), async () => {});
  const run = { ...plain, historian: undefined, workdir: join(it.path, 'work') };
  const made = await createRun({ ...run, signal: AbortSignal.abort('SIGINT') });
  expect(made).toMatchObject({
    code: 130,
    problem: { message: expect.stringContaining('by SIGINT before') },
  });
  expect(await it.list('.')).toEqual(['work']);
});

test.each([
  ['nothing', undefined, ''],
  ['files', 'work', 'content'],
])(
  'a run that begins with %s gets its name when all of it is on the disk, and the name is flushed then',
  async (_, workdir, content) => {
    await using it = await home({ 'work/a.txt': content });
    const runsDir = join(it.path, 'runs');
    const { historian: _h, ...plain } = wanted(runsDir, async () => {});
    using disk = noteDisk();
    const prepare = await import('../../src/app/run/create-run.ts');
    const made = await prepare.createRun({
      ...plain,
      workdir: workdir && join(it.path, workdir),
      keep: { 'kept.json': '{}' },
      historian: undefined,
      manifest: () => ({}) as Manifest,
    });
    expect(made).toHaveProperty('runDir');
    const named = disk.told.findLastIndex((what) => what.startsWith('moved') && what.endsWith('.new'));
    const before = disk.told.slice(0, named).map((what) => what.replace(/^.*\.new/, 'flushed '));
    // The workspace is there in its snapshot.
    const all = await readdir(join(runsDir, 'r1'), { recursive: true });
    const lasting = all.filter((path) => !path.startsWith('workspace/')).map((path) => `flushed /${path}`);
    expect(lasting.length).toBeGreaterThan(8);
    expect(before).toEqual(expect.arrayContaining(['flushed ', ...lasting]));
    expect(all).toContain('contents/pack');
    expect(disk.told.slice(named)).toContain(`flushed ${runsDir}`);
  },
);

test('what it copied goes again also where a folder of it may not be written in', async () => {
  await using it = await home({ 'work/locked/a.txt': 'a' });
  await symlink('elsewhere', join(it.path, 'work/.factory'));
  await chmod(join(it.path, 'work/locked'), 0o555);
  await asHeldByModes(it.path, async () => {
    const { historian: _, ...plain } = wanted(join(it.path, 'runs'), async () => {});
    const made = await createRun({ ...plain, historian: undefined, workdir: join(it.path, 'work') });
    expect(made).toMatchObject({ problem: { message: expect.stringContaining('.factory in the workdir') } });
    expect(await it.list('.')).toEqual(['work']);
  });
  await chmod(join(it.path, 'work/locked'), 0o755);
});

test.for(['nowhere', 'work'])('a link to %s with the run’s name counts as an existing run', async (to) => {
  await using it = await home({ 'work/a.txt': 'a', 'runs/other/a.txt': 'a' });
  await symlink(to, join(it.path, 'runs/r1'));
  const { historian: _, ...plain } = wanted(join(it.path, 'runs'), async () => {});
  const made = await createRun({ ...plain, historian: undefined, manifest: () => ({}) as Manifest });
  expect(made).toMatchObject({ problem: { code: 'usage', message: expect.stringContaining('a run "r1"') } });
  expect(await it.list('runs')).toEqual(['other', 'r1']);
});
