import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sha256 } from '../../src/core/sha256.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { diskIn, kinds } from './disks.ts';
import { tempFolder } from './folders.ts';
import { rig } from './rig.ts';

test.for(kinds)('an edit of the same size and time is found on %s', async (kind, context) => {
  await using it = tempFolder();
  using disk = diskIn(it.path, kind);
  if (disk === undefined) return context.skip('no such disk can be made here');
  const workspace = join(disk.path, 'ws');
  const file = join(workspace, 'a');
  mkdirSync(workspace);
  const write = (text: string) => {
    writeFileSync(file, text);
    utimesSync(file, 1e9, 1e9);
  };
  write('one');
  const snapshots = await openSnapshots({ workspace, dir: join(it.path, 'snaps') });
  let last = await snapshots.take();
  for (const text of ['two', 'six', 'ten']) {
    write(text);
    last = await snapshots.take(last);
    expect(last.tree.get('a')?.hash).toBe(sha256(text));
  }
});

test.for([
  { a: 'one', A: 'other' },
  { 'd/x': 'one', 'D/y': 'other' },
])('names that a file system takes for one are refused, and nothing is left: %o', async (wanted, context) => {
  await using it = await rig(wanted);
  using disk = diskIn(it.path, 'exFAT');
  if (disk === undefined) return context.skip('no such disk can be made here');
  await expect(it.snapshots.checkout(it.before.id, join(disk.path, 'out'))).rejects.toThrow(
    'is the same to this file system, which may not tell case apart',
  );
  expect(readdirSync(disk.path)).toEqual([]);
});
