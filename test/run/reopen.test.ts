/** A stage may lock its own folder; the engine reads on. */
import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { unlockNodeDirectory } from '../../src/run/node-directory.ts';
import { temp } from '../platform/temp.ts';

test('what a stage locked in its folder is opened again, and nothing that a link leads to', async () => {
  await using dir = await temp();
  const node = join(dir.dir, 'node');
  await mkdir(join(node, 'x/y'), { recursive: true });
  await mkdir(join(node, 'visits/1'), { recursive: true });
  for (const name of ['node/response.md', 'node/x/y/z', 'node/visits/1/old', 'outside'])
    await writeFile(join(dir.dir, name), '');
  await symlink(join(dir.dir, 'outside'), join(node, 'link'));
  const locked = ['node/x/y/z', 'node/x/y', 'node/x', 'node/response.md', 'node/visits/1/old', 'outside'];
  for (const name of [...locked, 'node/visits', 'node']) await chmod(join(dir.dir, name), 0);
  await unlockNodeDirectory(node);
  const mode = async (name: string) => (await stat(join(dir.dir, name))).mode & 0o777;
  expect(await Promise.all(['node', ...locked, 'node/visits'].map(mode))).toEqual([
    0o700, 0o600, 0o700, 0o700, 0o600, 0, 0, 0o700,
  ]);
  await unlockNodeDirectory(join(dir.dir, 'none'));
});

test('links and pipes that a stage left go, and a folder is there again where it put something else', async () => {
  await using dir = await temp();
  const node = join(dir.dir, 'node');
  await mkdir(join(node, 'x'), { recursive: true });
  await mkdir(join(dir.dir, 'away'));
  await writeFile(join(dir.dir, 'away/secret'), 's');
  for (const name of ['output.json', 'x/deep']) await symlink(join(dir.dir, 'away/secret'), join(node, name));
  for (const name of ['visits', 'circle'])
    await symlink(name === 'visits' ? join(dir.dir, 'away') : name, join(node, name));
  execFileSync('mkfifo', [join(node, 'parked.json')]);
  await writeFile(join(node, 'response.md'), '');
  // Files that a check is about to read stay.
  unlockNodeDirectory(node, join(node, 'parked.json'));
  expect((await readdir(node, { recursive: true })).sort()).toEqual(['parked.json', 'response.md', 'x']);
  unlockNodeDirectory(node);
  expect((await readdir(node, { recursive: true })).sort()).toEqual(['response.md', 'x']);
  await writeFile(join(node, 'visits'), '');
  unlockNodeDirectory(node);
  expect((await readdir(node)).sort()).toEqual(['response.md', 'x']);
  for (const put of [() => symlink(join(dir.dir, 'away'), node), () => writeFile(node, ''), async () => {}]) {
    await rm(node, { recursive: true });
    await put();
    unlockNodeDirectory(node);
    expect((await lstat(node)).isDirectory()).toBe(true);
    expect(await readdir(node)).toEqual([]);
  }
  expect(await readdir(join(dir.dir, 'away'))).toEqual(['secret']);
});
