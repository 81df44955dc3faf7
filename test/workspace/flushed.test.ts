/** What of snapshots and hidden files is on the disk, and in which order: what a power cut would leave. */
import { randomBytes } from 'node:crypto';
import { appendFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { noteDisk } from '../support/disk-notes.ts';
import { make, tempFolder } from './folders.ts';

test('a snapshot is on the disk when it is taken: by one flush, and one of the name of a new pack', async () => {
  await using it = tempFolder();
  const [workspace, dir] = [join(it.path, 'ws'), join(it.path, 'snaps')];
  make(workspace, { small: 'small', 'd/large': 'x'.repeat(1_100_000) });
  using disk = noteDisk();
  const { openSnapshots } = await import('../../src/workspace/snapshots.ts');
  const { told } = disk;
  const snapshots = await openSnapshots({ workspace, dir });
  const pack = join(dir, 'pack');
  const first = await snapshots.take();
  expect(told).toEqual([`flushed ${pack}`, `flushed ${dir}`]);
  told.length = 0;
  make(workspace, { more: 'more', 'd/larger': 'y'.repeat(1_200_000) });
  const second = await snapshots.take(first);
  expect(second.id).not.toBe(first.id);
  expect(told).toEqual([`flushed ${pack}`]);
  told.length = 0;
  await snapshots.take(second);
  expect(told).toEqual([]);
});

test('the contents of a run are on the disk when its journal asks for that: all by one flush', async () => {
  await using it = tempFolder();
  const [workspace, dir] = [join(it.path, 'ws'), join(it.path, 'snaps')];
  make(workspace, { a: 'a' });
  using disk = noteDisk();
  const { openSnapshots } = await import('../../src/workspace/snapshots.ts');
  const { exchangeLog } = await import('../../src/run/exchanges.ts');
  const snapshots = await openSnapshots({ workspace, dir, sync: 'later' });
  const first = await snapshots.take();
  const { told } = disk;
  expect(told).toEqual([]);
  await snapshots.store.flush();
  expect(told).toEqual([`flushed ${join(dir, 'pack')}`, `flushed ${dir}`]);
  told.length = 0;
  make(workspace, { b: 'b' });
  await snapshots.take(first);
  await exchangeLog(snapshots.store, () => {}).body('long '.repeat(1000));
  expect(told).toEqual([]);
  await snapshots.store.flush();
  await snapshots.store.flush();
  expect(told).toEqual([`flushed ${join(dir, 'pack')}`]);
});

test('what is stored while a flush is under way is on the disk after the next one', async () => {
  await using it = tempFolder();
  const [workspace, dir] = [join(it.path, 'ws'), join(it.path, 'snaps')];
  make(workspace, { a: 'a' });
  using disk = noteDisk();
  const { openSnapshots } = await import('../../src/workspace/snapshots.ts');
  const snapshots = await openSnapshots({ workspace, dir, sync: 'later' });
  await snapshots.take();
  await snapshots.store.flush();
  const other = snapshots.ofFolder(join(it.path, 'other'));
  make(join(it.path, 'other'), { b: 'b' });
  make(workspace, { c: 'c' });
  await snapshots.take();
  disk.told.length = 0;
  const flushing = snapshots.store.flush();
  await other.take();
  await Promise.all([flushing, snapshots.store.flush()]);
  expect(disk.told).toEqual([`flushed ${join(dir, 'pack')}`, `flushed ${join(dir, 'pack')}`]);
});

test('what a killed process may have left unflushed is flushed before anything relies on it', async () => {
  await using it = tempFolder();
  const [workspace, dir] = [join(it.path, 'ws'), join(it.path, 'snaps')];
  make(workspace, { a: 'a' });
  using disk = noteDisk();
  const { openSnapshots } = await import('../../src/workspace/snapshots.ts');
  const first = await (await openSnapshots({ workspace, dir })).take();
  appendFileSync(join(dir, 'pack'), 'the beginning of an item');
  const other = await openSnapshots({ workspace, dir });
  let last = await other.load(first.id);
  disk.told.length = 0;
  for (const text of ['b', 'c']) {
    make(workspace, { b: text });
    last = await other.take(last);
  }
  const own = `flushed ${join(dir, 'pack-1')}`;
  expect(disk.told).toEqual([`flushed ${join(dir, 'pack')}`, own, `flushed ${dir}`, own]);
});

test('contents whose flush has failed are written again before a snapshot names them', async () => {
  await using it = tempFolder();
  const [workspace, dir] = [join(it.path, 'ws'), join(it.path, 'snaps')];
  make(workspace, { a: 'a' });
  using disk = noteDisk();
  const { openSnapshots } = await import('../../src/workspace/snapshots.ts');
  const snapshots = await openSnapshots({ workspace, dir });
  const first = await snapshots.take();
  make(workspace, { b: randomBytes(5000).toString('hex') });
  const pack = join(dir, 'pack');
  disk.fail(pack);
  await expect(snapshots.take(first)).rejects.toThrow('EIO');
  disk.mend();
  const { size } = statSync(pack);
  await snapshots.take(first);
  expect(statSync(pack).size).toBeGreaterThan(size + 5000);
});

test('the list of hidden paths is on the disk, with its name, before anything is moved', async () => {
  await using it = tempFolder();
  const ws = join(it.path, 'ws');
  make(ws, { a: 'a', b: 'b' });
  using disk = noteDisk();
  const { hide, bringBack } = await import('../../src/workspace/hide.ts');
  const place = { folder: join(it.path, '.hidden'), list: join(it.path, '.list.json') };
  await hide(ws, place, { hidden: ['a', 'b'] });
  expect(disk.told).toEqual([
    expect.stringMatching(/^flushed .*\/\.\.list\.json\./),
    expect.stringMatching(/^moved .*\/\.\.list\.json\./),
    `flushed ${it.path}`,
    `moved ${ws}/a`,
    `moved ${ws}/b`,
  ]);
  await bringBack(ws, place);
  expect(readdirSync(ws)).toEqual(['a', 'b']);
});

test('a copy of a store is on the disk, file by file and with its names', async () => {
  await using it = tempFolder();
  const [workspace, dir, copy] = [join(it.path, 'ws'), join(it.path, 'snaps'), join(it.path, 'copy')];
  make(workspace, { small: 'small', large: 'x'.repeat(1_100_000) });
  using disk = noteDisk();
  const { openSnapshots } = await import('../../src/workspace/snapshots.ts');
  const { copyStore } = await import('../../src/contents/store.ts');
  await (await openSnapshots({ workspace, dir })).take();
  disk.told.length = 0;
  await copyStore(dir, copy);
  expect(disk.told).toEqual(['pack', ''].map((path) => `flushed ${join(copy, path)}`));
});
