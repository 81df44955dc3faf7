/** A store of snapshots, copied for another run. */
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { copyStore } from '../../src/contents/store.ts';
import { inspectStore } from '../../src/workspace/inspect.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { folder } from '../builder/support.ts';
import { treeOf } from '../support/house.ts';

test('a copy gives back what the store had, and is written to without touching it', async () => {
  using it = folder({ 'workspace/a.txt': 'a\n', 'workspace/big': 'x'.repeat(9 * 1024 * 1024) });
  const [workspace, dir, copy] = ['workspace', 'snapshots', 'copy'].map((name) => join(it.path, name));
  if (workspace === undefined || dir === undefined || copy === undefined) throw new Error('no names');
  const store = await openSnapshots({ workspace, dir });
  const one = await store.take();
  writeFileSync(join(workspace, 'b.txt'), 'b\n');
  const two = await store.take(one);
  appendFileSync(join(dir, 'pack'), 'the beginning of a block');
  const before = treeOf(dir);

  await copyStore(dir, copy);
  expect([...(await inspectStore(copy)).trees].sort()).toEqual([one.id, two.id].sort());
  const other = join(it.path, 'other');
  mkdirSync(other);
  const copied = await openSnapshots({ workspace: other, dir: copy });
  await copied.restore(await copied.load(one.id));
  expect(treeOf(other)).toEqual(treeOf(workspace, ['b.txt']));
  writeFileSync(join(other, 'c.txt'), 'c\n');
  await copied.take();
  expect(treeOf(dir)).toEqual(before);
});
