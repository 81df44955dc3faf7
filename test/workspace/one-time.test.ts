/** File systems that keep one time for a file's content and for its facts: whoever sets it back hides an edit. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sha256 } from '../../src/model/sha256.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { tempFolder } from './folders.ts';

const did = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;

/** A small disk at a folder; false where there is no program for it, or it is not permitted. */
const disks: readonly [string, (image: string, folder: string) => boolean][] = [
  ['FAT', (image, folder) => did('mkfs.vfat', image) && did('mount', '-o', 'loop', image, folder)],
  [
    'exFAT',
    (image, folder) =>
      did('mkfs.exfat', image) &&
      (did('mount', '-o', 'loop', '-t', 'exfat', image, folder) ||
        did('mount', '-o', 'loop', '-t', 'exfat-fuse', image, folder)),
  ],
];

test.for(disks)('an edit of the same size and time is found on %s', async ([, mounted], context) => {
  const it = tempFolder();
  const image = join(it.path, 'image');
  const disk = join(it.path, 'disk');
  writeFileSync(image, '');
  truncateSync(image, 64 * 1024 * 1024);
  mkdirSync(disk);
  try {
    if (!mounted(image, disk)) return context.skip('no such disk can be made here');
    const workspace = join(disk, 'ws');
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
  } finally {
    spawnSync('umount', [disk]);
    await it[Symbol.asyncDispose]();
  }
});
