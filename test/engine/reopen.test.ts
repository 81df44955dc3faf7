/** A stage may lock its own folder; the engine reads on. */
import { chmod, mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reopen } from '../../src/engine/reopen.ts';
import { temp } from '../system/temp.ts';

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
  await reopen(node);
  const mode = async (name: string) => (await stat(join(dir.dir, name))).mode & 0o777;
  expect(await Promise.all(['node', ...locked, 'node/visits'].map(mode))).toEqual([
    0o700, 0o600, 0o700, 0o700, 0o600, 0, 0, 0o700,
  ]);
  await reopen(join(dir.dir, 'none'));
});
