import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ContentStore } from '../../src/contents/store.ts';
import { fence, Superseded } from '../../src/platform/files/fence.ts';
import { DamagedStore } from '../../src/platform/files/workspace-error.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { Folder, FolderTree } from '../../src/workspace/tree.ts';
import { Trees } from '../../src/workspace/trees.ts';
import { asHeldByModes, make, picture, tempFolder } from './folders.ts';

/** A workspace with one of everything, its snapshot, and a place `out` that is not there yet. */
async function rig() {
  const it = tempFolder();
  const ws = join(it.path, 'ws');
  make(ws, {
    a: 'a',
    empty: '',
    exe: { text: '#!/bin/sh', mode: 0o4755 },
    closed: { text: 'c', mode: 0o400 },
    'shut/in/x': 'x',
    'shut/in': { mode: 0o500 },
    'void/deep': { mode: 0o700 },
    'sub/.git/objects/00': { text: 'loose', mode: 0o444 },
    link: { link: 'shut/in' },
    nowhere: { link: '/not/there' },
    'line\nbreak': 'n',
    '-rf': 'dash',
  });
  writeFileSync(Buffer.from(`${ws}/\xff\x80`, 'latin1'), 'bytes');
  writeFileSync(join(ws, 'large'), Buffer.alloc(1_500_000, 'large'));
  const snapshots = await openSnapshots({ workspace: ws, dir: join(it.path, 'snaps') });
  const taken = await snapshots.take();
  return { ...it, ws, out: join(it.path, 'some/where'), was: picture(ws), snapshots, taken };
}

test('a snapshot is put into a folder that is missing, empty, or a link to an empty one', async () => {
  await using it = await rig();
  make(it.path, { none: {}, target: {} });
  symlinkSync('target', join(it.path, 'way'));
  // A name such as we use ourselves, in a snapshot.
  writeFileSync(join(it.ws, '.factory-checkout-x'), 'mine');
  const taken = await it.snapshots.take();
  const was = picture(it.ws);
  // The workspace has gone on meanwhile; the folder is what the snapshot says.
  writeFileSync(join(it.ws, 'a'), 'later');
  for (const [place, real] of [
    [it.out, it.out],
    [join(it.path, 'none'), join(it.path, 'none')],
    [join(it.path, 'way'), join(it.path, 'target')],
  ] as const) {
    await it.snapshots.checkout(taken.id, place);
    expect(picture(real)).toEqual(was);
  }
  const asMade = statSync(join(it.path, 'none')).mode;
  expect(statSync(it.out).mode).toBe(asMade);
  expect(readFileSync(join(it.ws, 'a'), 'utf8')).toBe('later');
});

test('writing into a checkout changes neither workspace nor store', async () => {
  await using it = await rig();
  await it.snapshots.checkout(it.taken.id, it.out);
  for (const name of ['a', 'large']) writeFileSync(join(it.out, name), 'mine now');
  expect(picture(it.ws)).toEqual(it.was);
  await it.snapshots.checkout(it.taken.id, join(it.path, 'again'));
  expect(picture(join(it.path, 'again'))).toEqual(it.was);
});

test('a folder that holds something, a file, and a place that may not be written in are refused by name', async () => {
  await using it = await rig();
  make(it.path, { 'full/mine': 'mine', file: 'file', 'shut/x': 'x', shut: { mode: 0o500 } });
  const full = join(it.path, 'full');
  await expect(it.snapshots.checkout(it.taken.id, full)).rejects.toThrow(
    `cannot check out into "${full}": the folder is not empty; name a folder that is missing or empty`,
  );
  expect(readdirSync(full)).toEqual(['mine']);
  await expect(it.snapshots.checkout(it.taken.id, join(it.path, 'file'))).rejects.toThrow(
    'it is not a folder',
  );
  await expect(it.snapshots.checkout(it.taken.id, join(it.path, 'file/x'))).rejects.toThrow(
    'it is not a folder',
  );
  make(it.path, { still: { mode: 0o555 } });
  await expect(it.snapshots.checkout(it.taken.id, join(it.path, 'still'))).rejects.toThrow(
    'the folder may not be written in',
  );
  await asHeldByModes(it.path, () =>
    expect(it.snapshots.checkout(it.taken.id, join(it.path, 'shut/new'))).rejects.toThrow(
      /cannot check out into ".*shut\/new": this user may not write there; name another folder$/,
    ),
  );
  await expect(it.snapshots.checkout('0'.repeat(64), it.out)).rejects.toThrow('there is no snapshot 0000');
});

test('a checkout that the store fails leaves nothing behind', async () => {
  await using it = await rig();
  truncateSync(join(it.path, 'snaps/pack'), 1000);
  await expect(it.snapshots.checkout(it.taken.id, it.out)).rejects.toThrow(DamagedStore);
  expect(existsSync(join(it.path, 'some'))).toBe(false);
  await expect(it.snapshots.checkout(it.taken.id, join(it.out, 'new/deep'))).rejects.toThrow(DamagedStore);
  expect(existsSync(join(it.path, 'some'))).toBe(false);
  mkdirSync(it.out, { recursive: true });
  await expect(it.snapshots.checkout(it.taken.id, it.out)).rejects.toThrow(DamagedStore);
  expect(readdirSync(it.out)).toEqual([]);
});

test('a foreign snapshot that names a path outside of its folder is refused', async () => {
  await using it = await rig();
  const link = { kind: 'link', mode: 0o777, target: 'a' } as const;
  for (const name of ['../evil', `${it.path}/evil`, '..', '.', '', 'a//evil', 'evil/']) {
    const store = new ContentStore(join(it.path, 'snaps'));
    const tree = new FolderTree(new Folder(0, new Map([[name, link]])));
    const batch = store.begin();
    new Trees(store).add(tree, new FolderTree(), batch);
    await batch.commit();
    await batch.end();
    await expect(it.snapshots.checkout(tree.top.id, it.out), name).rejects.toThrow(/is damaged/);
    expect(existsSync(join(it.path, 'some/evil'))).toBe(false);
  }
});

test('a process that lost the ownership meanwhile gives nothing its name', async () => {
  await using it = await rig();
  let asked = 0;
  const open = fence(it.out, () => {
    if (++asked > 1) throw new Superseded();
  });
  try {
    await expect(it.snapshots.checkout(it.taken.id, it.out)).rejects.toThrow(Superseded);
  } finally {
    open();
  }
  expect(existsSync(join(it.path, 'some'))).toBe(false);
});
