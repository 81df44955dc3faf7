import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { WorkspaceError } from '../../src/platform/files/workspace-error.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { rig } from './rig.ts';

/** Shows the folder `outside` at a place in the workspace, too; false where that is not permitted. */
const shows = (outside: string, place: string): boolean =>
  spawnSync('mount', ['--bind', outside, place]).status === 0;

test.for(['mnt', 'a folder\\of 040', ''])(
  'what is mounted in a workspace, at "%s", is left alone and is in no snapshot',
  async (name, context) => {
    await using it = await rig({ a: 'a', [name === '' ? 'b' : name]: {} });
    const place = it.at(name);
    const precious = join(it.path, 'outside/precious');
    symlinkSync('.', join(it.path, 'link'));
    const byLink = await openSnapshots({
      workspace: join(it.path, 'link/ws'),
      dir: join(it.path, 'others'),
    });
    if (!shows(join(it.path, 'outside'), place)) return context.skip('nothing may be mounted here');
    try {
      const refused: unknown[] = [];
      for (const act of [
        () => it.snapshots.restore(it.before),
        () => it.snapshots.take(it.before),
        () => byLink.take(),
      ])
        refused.push(await act().catch((error: unknown) => error));
      for (const error of refused) {
        expect(error).toBeInstanceOf(WorkspaceError);
        expect(error).toHaveProperty('message', expect.stringContaining(`"${join(it.ws, name)}"`));
      }
      await expect(it.snapshots.restore(it.before, (path) => path === 'b')).rejects.toThrow('is mounted at');
      expect(readFileSync(precious, 'utf8')).toBe('precious');
    } finally {
      spawnSync('umount', [place]);
    }
    await it.snapshots.restore(it.before);
    expect((await it.snapshots.take(it.before)).id).toBe(it.before.id);
  },
);

test.for([
  ['folder', 'outside'],
  ['folder/file', 'outside/precious'],
  ['a', 'outside/precious'],
  ['', 'empty'],
])('what is mounted at "%s", long known, is left alone', async ([name = '', what = ''], context) => {
  await using it = await rig({ a: 'a', folder: {}, 'folder/file': 'x' });
  const { snapshots } = it;
  // Until all is old enough for its facts to vouch for it.
  let last = it.before;
  while ([...last.tree.values()].some(({ kind, ctimeMs }) => kind === 'file' && ctimeMs === undefined))
    last = await snapshots.take(last);
  expect(await snapshots.take(last)).toBe(last);
  mkdirSync(join(it.path, 'empty'));
  if (!shows(join(it.path, what), it.at(name))) return context.skip('nothing may be mounted here');
  try {
    await expect(snapshots.take(last)).rejects.toThrow(`is mounted at "${join(it.ws, name)}"`);
    await expect(snapshots.restore(last)).rejects.toThrow('is mounted at');
  } finally {
    spawnSync('umount', [it.at(name)]);
  }
  expect((await snapshots.take(last)).id).toBe(last.id);
});

test('a mount point may be checked out into', async (context) => {
  await using it = await rig({ a: 'a' });
  const disk = join(it.path, 'disk');
  mkdirSync(disk);
  writeFileSync(it.at('a'), 'b');
  if (spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', disk]).status !== 0)
    return context.skip('nothing may be mounted here');
  try {
    await it.snapshots.checkout(it.before.id, disk);
    expect(readFileSync(join(disk, 'a'), 'utf8')).toBe('a');
  } finally {
    spawnSync('umount', [disk]);
  }
});

test('a stage restores the workspace that its sandbox has mounted for it', async (context) => {
  await using it = await rig({ a: 'a', secret: {} });
  if (!shows(it.ws, it.ws)) return context.skip('nothing may be mounted here');
  try {
    writeFileSync(it.at('a'), 'b');
    const inStage = await openSnapshots({ workspace: it.ws, dir: join(it.path, 'snaps'), inStage: true });
    await inStage.restore(await inStage.load(it.before.id));
    expect(readFileSync(it.at('a'), 'utf8')).toBe('a');
  } finally {
    spawnSync('umount', [it.ws]);
  }
});
