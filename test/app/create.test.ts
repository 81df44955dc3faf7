/** A run that is refused takes back what it made, and nothing of anybody else. */
import { chmod, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkPipeline } from '../../src/app/read-pipeline.ts';
import type { RunSeed } from '../../src/app/run/create.ts';
import { home } from '../support/cli.ts';
import { noteDisk } from '../support/disk-notes.ts';
import { plainFlags, quietDoors } from '../support/host.ts';
import { diskIn } from '../workspace/disks.ts';
import { asHeldByModes } from '../workspace/folders.ts';

/** Creates the run `r1` with a copy of `workdir`, or with an empty tree; `more` replaces parts of its seed. */
async function created(
  dir: string,
  runsDir: string,
  { workdir, signal, more }: { workdir?: string; signal?: AbortSignal; more?: Partial<RunSeed> } = {},
) {
  const from = workdir === undefined ? 'workdir="none"' : '';
  const dot = `digraph g { ${from}; start [shape=Mdiamond]; exit [shape=Msquare]; start -> exit }`;
  const { graph } = checkPipeline('p.dot', dot);
  if (graph === undefined) throw new Error('the pipeline has errors');
  const quiet = quietDoors(dir, { FACTORY_SANDBOX: 'none' });
  const host = signal === undefined ? quiet : { ...quiet, signal };
  const flags = workdir === undefined ? plainFlags : { ...plainFlags, workdir };
  const where = { runsDir, runId: 'r1' };
  // Anew for a test that notes what the disk does.
  const { create } = await import('../../src/app/run/create.ts');
  const { workdirSeed } = await import('../../src/app/run/workdir-seed.ts');
  const seed = await workdirSeed(graph, where, flags, host);
  return 'problems' in seed ? seed : create(where, { ...seed, ...more }, flags, host);
}

/** A seed that is refused after `before`. */
const refusing = (before: () => Promise<unknown> = async () => {}): Partial<RunSeed> => ({
  workspace: async () => {
    await before();
    return { problem: { code: 'x', severity: 'error', message: 'no' } };
  },
});

test('the folders it made go again', async () => {
  await using it = await home();
  expect(await created(it.path, join(it.path, '.factory/runs'), { more: refusing() })).toHaveProperty(
    'problems',
  );
  expect(await it.list('.')).toEqual([]);
});

test('another run that was made meanwhile stays', async () => {
  await using it = await home();
  const runsDir = join(it.path, '.factory/runs');
  const other = async () => {
    await mkdir(join(runsDir, 'other'));
    await writeFile(join(runsDir, 'other/manifest.json'), '{}');
  };
  expect(await created(it.path, runsDir, { more: refusing(other) })).toHaveProperty('problems');
  expect(await it.list('.factory/runs')).toEqual(['other']);
  expect(await it.list('.factory')).toEqual(['.gitignore', 'runs']);
});

test('a disk that keeps no modes is refused as the place of runs, and not the workdir', async (context) => {
  await using it = await home({ 'w/a': 'x', 'l/x': '' });
  using disk = diskIn(it.path, 'FAT (FUSE)');
  if (disk === undefined) return context.skip();
  await symlink('x', join(it.path, 'l/to'));
  const refused = async (workdir: string) => {
    const run = await created(it.path, join(disk.path, 'runs'), { workdir });
    return 'problems' in run ? run.problems[0] : undefined;
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
  const options = { workdir: 'work', signal: AbortSignal.abort('SIGINT') };
  expect(await created(it.path, join(it.path, '.factory/runs'), options)).toMatchObject({
    code: 130,
    problems: [{ message: expect.stringContaining('by SIGINT before') }],
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
    using disk = noteDisk();
    const more = { keep: { 'kept.json': '{}' } };
    const run = await created(it.path, runsDir, workdir === undefined ? { more } : { workdir, more });
    expect(run).toHaveProperty('runDir');
    const named = disk.told.findLastIndex((what) => what.startsWith('moved') && what.endsWith('.new'));
    const before = disk.told.slice(0, named).map((what) => what.replace(/^.*\.new/, 'flushed '));
    // The workspace is there in its snapshot.
    const all = await readdir(join(runsDir, 'r1'), { recursive: true });
    const lasting = all.filter((path) => !path.startsWith('workspace/')).map((path) => `flushed /${path}`);
    expect(lasting.length).toBeGreaterThan(6);
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
    const run = await created(it.path, join(it.path, 'runs'), { workdir: 'work' });
    expect(run).toMatchObject({
      problems: [{ message: expect.stringContaining('.factory in the workdir') }],
    });
    expect(await it.list('.')).toEqual(['work']);
  });
  await chmod(join(it.path, 'work/locked'), 0o755);
});

test.for(['nowhere', 'work'])('a link to %s with the run’s name counts as an existing run', async (to) => {
  await using it = await home({ 'work/a.txt': 'a', 'runs/other/a.txt': 'a' });
  await symlink(to, join(it.path, 'runs/r1'));
  expect(await created(it.path, join(it.path, 'runs'))).toMatchObject({
    problems: [{ code: 'usage', message: expect.stringContaining('a run "r1"') }],
  });
  expect(await it.list('runs')).toEqual(['other', 'r1']);
});
