/** A disk that is really full: a small one, mounted at the runs directory. */
import { spawnSync } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { answer, order } from '../app/orders/support.ts';
import { put, repository } from '../builder/support.ts';
import { home } from '../support/cli.ts';

// The second node fills the disk once and succeeds: the writes of factory itself fail.
const pipeline = `digraph g {
  workdir="none"
  start [shape=Mdiamond]
  one [shape=parallelogram, tool_command="echo one >> log.txt; seq 50000 > many.txt"]
  two [shape=parallelogram, tool_command="echo two >> log.txt; if mkdir $ONCE 2>/dev/null; then cat /dev/zero > $FACTORY_NODE_DIR/fill 2>/dev/null; fi; true"]
  three [shape=parallelogram, tool_command="echo three >> log.txt"]
  exit [shape=Msquare]
  start -> one -> two -> three -> exit
}`;

/** A disk of that size at `path`, mounted for one test; if mounting is impossible, the test is skipped. */
async function smallDisk(context: TestContext, path: string, room: string) {
  await mkdir(path);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', room, 'tmpfs', path]);
  if (mounted.status !== 0)
    return context.skip('no small disk can be mounted here (that takes root, on Linux)');
  return { path, [Symbol.dispose]: () => void spawnSync('umount', [path]) };
}

test('a full disk suspends the run with the reason, and the run can be resumed once there is space', async (context) => {
  await using it = await home({ 'p.dot': pipeline.replace('cat /dev/zero', 'head -c 100000000 $ZERO') });
  using small = await smallDisk(context, join(it.path, 'runs'), 'size=2m');
  const runs = small.path;
  const env = { ONCE: join(it.path, 'once'), ZERO: '/dev/zero' };
  const ran = await it.factory(['run', 'p.dot', '--runsdir', 'runs', '--run-id', 'r1'], { env });
  expect(ran.code, ran.stderr).toBe(75);
  const cause = new RegExp(`${join(runs, 'r1')}/\\S+: no space is left on the disk`);
  expect(ran.stdout).toMatch(new RegExp(`suspended: two: ${cause.source}`));
  expect(ran.stdout).toMatch(/fix {3,}Make room .*\n(?:.*\n)*.*next .*resume r1 --runsdir/);
  expect(ran.stderr).not.toMatch(/^\s+at /m);
  expect(await it.json('runs/r1/checkpoint.json')).toMatchObject({
    last_completed_node: 'one',
    next_node: 'two',
    status: 'paused_disk',
    parked: { node: 'two', reason: expect.stringMatching(cause) },
  });
  for (const words of [['runs'], ['why', 'r1']])
    expect((await it.factory([...words, '--runsdir', 'runs'])).stdout).toMatch(cause);
  expect((await it.factory(['verify', 'r1', '--runsdir', 'runs'])).code).toBe(0);

  spawnSync('dd', ['if=/dev/zero', `of=${join(runs, 'all')}`, 'bs=4k']);
  const still = await it.factory(['resume', 'r1', '--runsdir', 'runs'], { env });
  expect(still.code, still.stderr).toBe(75);
  expect(still.stderr).toContain('no space is left on the disk');
  expect(still.stderr).toMatch(/fix: .*resume .*r1/);
  expect((await it.factory(['why', 'r1', '--runsdir', 'runs'])).stdout).toMatch(cause);
  await rm(join(runs, 'all'));

  // The lost files of the workspace do not fit either, although factory's small files do.
  await writeFile(join(runs, 'r1/workspace/many.txt'), '');
  await writeFile(join(runs, 'room'), 'x'.repeat(65_536));
  spawnSync('dd', ['if=/dev/zero', `of=${join(runs, 'more')}`, 'bs=4k']);
  await rm(join(runs, 'room'));
  const unrestored = await it.factory(['resume', 'r1', '--runsdir', 'runs'], { env });
  expect(unrestored.code, unrestored.stderr).toBe(75);
  const shown = unrestored.stdout + unrestored.stderr;
  expect(shown).toContain(`${join(runs, 'r1/workspace/many.txt')}: no space is left on the disk`);
  expect(shown).toMatch(/resume r1 --runsdir/);

  await rm(join(runs, 'more'));
  await rm(join(runs, 'r1/two/fill'), { force: true });
  const resumed = await it.factory(['resume', 'r1', '--runsdir', 'runs'], { env });
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(await it.read('runs/r1/workspace/log.txt')).toBe('one\ntwo\nthree\n');
  expect(await it.list('runs')).toEqual(['r1']);
});

test('on a read-only disk no run starts, and the reason is printed', async (context) => {
  await using it = await home({ 'p.dot': pipeline });
  using small = await smallDisk(context, join(it.path, 'runs'), 'size=2m');
  const runs = small.path;
  const env = { ONCE: it.path };
  const ran = await it.factory(['run', 'p.dot', '--runsdir', 'runs', '--run-id', 'r1'], { env });
  expect(ran.code, ran.stderr).toBe(0);
  expect(spawnSync('mount', ['-o', 'remount,ro', runs]).status).toBe(0);
  for (const args of [
    ['run', 'p.dot'],
    ['fork', 'r1', '--at', 'one'],
  ]) {
    const refused = await it.factory([...args, '--runsdir', 'runs', '--run-id', 'r2'], { env });
    expect(refused.code, refused.stderr).toBe(2);
    expect(refused.stderr).toContain('the file system is read-only');
    expect(refused.stderr).toMatch(/fix: .*--runsdir/);
  }
  expect(await it.list('runs')).toEqual(['r1']);
});

test('a work order without disk space for its records and lock reports the reason and how to resume', async (context) => {
  await using it = await home({
    'script.json': JSON.stringify({
      format: 'factory-script/1',
      answers: { propose: [answer('f1.txt', '1\n')] },
    }),
  });
  using small = await smallDisk(context, join(it.path, 'disk'), 'size=4m');
  const disk = small.path;
  const fill = join(disk, 'fill');
  put(disk, {
    'wo.json': JSON.stringify(order(1)),
    'repo/scripts/verify.sh': `test -e '${it.path}/go' || head -c 100000000 /dev/zero > '${fill}' 2> /dev/null; true\n`,
  });
  repository(join(disk, 'repo'));
  const flags = ['--repo', 'repo', '--work-order', 'wo.json', '--run-id', 'r1', '--no-push'];
  const agent = ['--agent', 'scripted', '--script', '../script.json'];
  const ran = await it.factory(['order', 'run', ...flags, ...agent], { cwd: disk });
  expect(ran.code, ran.stderr).toBe(75);
  const shown = ran.stdout + ran.stderr;
  expect(shown).toContain(`${join(disk, '.factory/runs/r1')}/verify/`);
  expect(shown).toMatch(/resume r1/);
  await rm(fill);
  await writeFile(join(it.path, 'go'), '');
  const resumed = await it.factory(['resume', 'r1'], { cwd: disk });
  expect(resumed.code, resumed.stdout + resumed.stderr).toBe(0);
});

const sealing = `digraph g {
  workdir="w"; holdout="scenarios"
  start [shape=Mdiamond]
  one [shape=parallelogram, tool_command="true"]
  exit [shape=Msquare]
  start -> one -> exit
}`;

/** Takes the last byte. */
const fillUp = (folder: string) => spawnSync('dd', ['if=/dev/zero', `of=${join(folder, 'fill')}`, 'bs=512']);

test.for(['size=2m', 'size=2m,nr_inodes=full'] as const)(
  'rm and prune remove runs, with the keys of their holdout, from a disk without a byte free (%s)',
  async (room, context) => {
    await using it = await home({ 'p.dot': sealing, 'w/scenarios/one.sh': 'exit 0\n' });
    using small = await smallDisk(context, join(it.path, 'runs'), 'size=2m');
    const env = { FACTORY_KEYS: join(it.path, 'keys') };
    for (const id of ['r1', 'r2', 'r3']) {
      const ran = await it.factory(['run', 'p.dot', '--runsdir', 'runs', '--run-id', id], { env });
      expect(ran.code, ran.stderr).toBe(0);
    }
    expect(await it.list('keys')).toHaveLength(3);
    fillUp(small.path);
    if (room.endsWith('full')) {
      const used = spawnSync('df', ['--output=iused', small.path], { encoding: 'utf8' }).stdout.trim();
      const inodes = used.split('\n').at(-1)?.trim();
      expect(spawnSync('mount', ['-o', `remount,nr_inodes=${inodes}`, small.path]).status).toBe(0);
    }
    const pruned = await it.factory(['prune', '--keep', '2', '--runsdir', 'runs'], { env });
    expect(pruned.code, pruned.stderr).toBe(0);
    fillUp(small.path);
    const removed = await it.factory(['rm', 'r3', '--runsdir', 'runs'], { env });
    expect(removed.code, removed.stderr).toBe(0);
    expect(await it.list('runs')).toEqual(['fill', 'r2']);
    expect(await it.list('keys')).toHaveLength(1);
  },
);

test('init leaves nothing on a full disk', async (context) => {
  await using it = await home();
  using small = await smallDisk(context, join(it.path, 'disk'), 'size=64k');
  spawnSync('dd', ['if=/dev/zero', `of=${join(small.path, 'fill')}`, 'bs=4k', 'count=14']);
  for (const name of ['disk/app', 'disk/app']) {
    const made = await it.factory(['init', name]);
    expect(made.code, made.stderr).toBe(1);
    expect(made.stderr).toContain('no space is left on the disk');
    expect(await it.list('disk')).toEqual(['fill']);
  }
});
