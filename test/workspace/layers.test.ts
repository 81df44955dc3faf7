/** On an overlay, what a layer below has: its folders cannot be renamed, and its files may have the numbers of others. */
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openVisit } from '../../src/engine/node-dir.ts';
import { removeAside } from '../../src/system/remove.ts';
import { bringBack, hide } from '../../src/workspace/hide.ts';
import { linkTree } from '../../src/workspace/layers.ts';
import type { Snapshot, Snapshots } from '../../src/workspace/snapshot.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { diskIn, overlayIn } from './disks.ts';
import { make, picture, tempFolder, type Wanted } from './folders.ts';

/** An overlay on a disk of its own, with this in its lower layer. */
function stage(folder: string, wanted: Wanted) {
  const disk = diskIn(folder, 'tmpfs');
  if (disk === undefined) return undefined;
  const lower = join(disk.path, 'lower');
  mkdirSync(lower);
  make(lower, wanted);
  const top = overlayIn(folder, lower, disk.path);
  if (top !== undefined)
    return {
      top: top.path,
      [Symbol.dispose]() {
        top[Symbol.dispose]();
        disk[Symbol.dispose]();
      },
    };
  disk[Symbol.dispose]();
  return undefined;
}

/** Taken when all files are old enough for their numbers to be kept. */
async function takenLater(snapshots: Snapshots): Promise<Snapshot> {
  for (;;) {
    const taken = await snapshots.take();
    if ([...taken.tree.values()].every(({ kind, ino }) => kind === 'dir' || ino !== undefined)) return taken;
  }
}

const no = 'no overlay can be made here';
const hidden: Wanted = {
  'ws/secret/deep/a': 'a',
  'ws/secret/locked': { mode: 0o555 },
  'ws/secret/link': { link: 'deep/a' },
  'ws/seen': 'seen',
};
const placeIn = (top: string) => ({ folder: join(top, 'away'), list: join(top, 'away.json') });

test('a folder is hidden and brought back', async (context) => {
  await using it = tempFolder();
  using at = stage(it.path, hidden);
  if (at === undefined) return context.skip(no);
  const [ws, place] = [join(at.top, 'ws'), placeIn(at.top)];
  const was = picture(ws);
  await hide(ws, place, { hidden: ['secret'] });
  expect(readdirSync(ws)).toEqual(['seen']);
  expect(await bringBack(ws, place)).toEqual([]);
  expect(picture(ws)).toEqual(was);
  expect(existsSync(place.folder)).toBe(false);
});

test.for([
  ['before anything of it was there', () => {}],
  ['when half of it was there', (waiting: string) => mkdirSync(`${waiting}.half/deep`, { recursive: true })],
  [
    'when half of the old one was gone',
    (waiting: string) => {
      linkTree(waiting, `${waiting}.whole`);
      rmSync(join(waiting, 'deep'), { recursive: true });
    },
  ],
] as const)(
  'what a layer below has out of sight is brought back, also by who was cut %s',
  async ([, cut], context) => {
    await using it = tempFolder();
    const before = join(it.path, 'before');
    mkdirSync(before);
    make(before, hidden);
    const was = picture(join(before, 'ws'));
    await hide(join(before, 'ws'), placeIn(before), { hidden: ['secret'] });
    using disk = diskIn(it.path, 'tmpfs');
    using over = disk && overlayIn(it.path, before, disk.path);
    if (over === undefined) return context.skip(no);
    cut(join(over.path, 'away', '0'));
    expect(await bringBack(join(over.path, 'ws'), placeIn(over.path))).toEqual([]);
    expect(picture(join(over.path, 'ws'))).toEqual(was);
    expect(readdirSync(over.path).sort()).toEqual(['ws']);
  },
);

test('a visit is moved away with the folders that it has left, also by who was cut', async (context) => {
  await using it = tempFolder();
  const stageFile = JSON.stringify({ schema_version: 1, visit: 1, attempt: 1, marker: 'm', process: null });
  using at = stage(it.path, {
    'node/stage.json': stageFile,
    'node/report/deep/x': 'x',
    'node/report/y': 'y',
    'node/visits/1/report/moved': 'moved',
  });
  if (at === undefined) return context.skip(no);
  const node = join(at.top, 'node');
  await openVisit(node, 2, 'm');
  expect(readdirSync(node).sort()).toEqual(['stage.json', 'visits']);
  const report = join(node, 'visits/1/report');
  expect(['deep/x', 'y', 'moved'].map((name) => readFileSync(join(report, name), 'utf8'))).toEqual([
    'x',
    'y',
    'moved',
  ]);
});

test('a folder is taken away', async (context) => {
  await using it = tempFolder();
  using at = stage(it.path, { 'gone/deep/x': 'x', stays: 'stays' });
  if (at === undefined) return context.skip(no);
  await removeAside(join(at.top, 'gone'));
  expect(readdirSync(at.top)).toEqual(['stays']);
});

test('files alike of two layers, which number theirs alike, are not made names of one file', async (context) => {
  await using it = tempFolder();
  mkdirSync(join(it.path, 'other'));
  using below = diskIn(join(it.path, 'other'), 'tmpfs');
  using disk = diskIn(it.path, 'tmpfs');
  if (below === undefined || disk === undefined) return context.skip(no);
  const fill = (folder: string, name: string) => {
    for (let n = 0; n < 40; n += 1) writeFileSync(join(folder, `${name}${n}`), '');
  };
  mkdirSync(join(below.path, 'ws'));
  fill(join(below.path, 'ws'), 'lower');
  using over = overlayIn(it.path, below.path, disk.path, 'xino=off');
  if (over === undefined) return context.skip(no);
  const ws = join(over.path, 'ws');
  fill(ws, 'upper');
  const numbers = readdirSync(ws).map((name) => lstatSync(join(ws, name)).ino);
  if (new Set(numbers).size === numbers.length) return context.skip('all have numbers of their own');
  const snapshots = await openSnapshots({ workspace: ws, dir: join(it.path, 'snaps') });
  const taken = await takenLater(snapshots);
  for (const name of readdirSync(ws)) rmSync(join(ws, name));
  await snapshots.restore(taken);
  expect(readdirSync(ws).filter((name) => lstatSync(join(ws, name)).nlink > 1)).toEqual([]);
  expect(readdirSync(ws)).toHaveLength(80);
});

test('files alike of two subvolumes are not made names of one file', async (context) => {
  await using it = tempFolder();
  using disk = diskIn(it.path, 'Btrfs');
  if (disk === undefined) return context.skip('no such disk can be made here');
  const ws = join(disk.path, 'ws');
  mkdirSync(ws);
  for (const name of ['one', 'two']) {
    spawnSync('btrfs', ['subvolume', 'create', join(ws, name)]);
    for (const path of ['a', 'b']) writeFileSync(join(ws, name, path), 'same');
  }
  const snapshots = await openSnapshots({ workspace: ws, dir: join(it.path, 'snaps') });
  const taken = await takenLater(snapshots);
  for (const name of ['one', 'two']) rmSync(join(ws, name), { recursive: true });
  await snapshots.restore(taken);
  expect(lstatSync(join(ws, 'one/a')).nlink).toBe(1);
  expect((await snapshots.take()).id).toBe(taken.id);
});
