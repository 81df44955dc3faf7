import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fence, Superseded } from '../../src/platform/files/fence.ts';
import { diff } from '../../src/workspace/diff.ts';
import { putBack } from '../../src/workspace/restore.ts';
import { assertWorkspaceRoot } from '../../src/workspace/roots.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { asHeldByModes, inodeOf, isRoot, make, picture, type Wanted } from './folders.ts';
import { rig } from './rig.ts';

const start: Wanted = {
  a: 'a',
  exe: { text: '#!/bin/sh', mode: 0o755 },
  'd/x': 'x',
  'd/e/y': 'y',
  'd/e': { mode: 0o750 },
  'void/deep': {},
  link: { link: 'd/x' },
  'link-out': { link: '../outside' },
};

/** Removes `path` and makes `wanted`. */
const instead =
  (path: string, wanted: Wanted) =>
  (ws: string): void => {
    rmSync(join(ws, path), { recursive: true });
    make(ws, wanted);
  };
const pipe = (path: string) => (ws: string) => {
  rmSync(join(ws, path), { force: true });
  execFileSync('mkfifo', [join(ws, path)]);
};
const closed = (path: string, mode: number) => (ws: string) => {
  if (path !== 'd') writeFileSync(join(ws, 'a'), 'z');
  if (path === 'd') rmSync(join(ws, 'd/e/y'));
  if (path === 'd') chmodSync(join(ws, 'd/e'), 0);
  chmodSync(join(ws, path), mode);
};

const deeds: readonly [string, (ws: string) => void][] = [
  ['nothing at all', () => {}],
  ['a changed file', instead('a', { a: 'b' })],
  ['a changed mode', (ws) => chmodSync(join(ws, 'exe'), 0o600)],
  ['a removed file', instead('d/x', {})],
  ['a removed tree', instead('d', {})],
  ['new files and folders', (ws) => make(ws, { n: 'n', 'new/deep/er': 'x', 'new/none': {}, 'd/n': 'n' })],
  ['a changed folder mode', (ws) => chmodSync(join(ws, 'd/e'), 0o700)],
  ['a removed empty folder', instead('void', {})],
  ['a link that points elsewhere', instead('link', { link: { link: 'a' } })],
  ['a link that became a file', instead('link', { link: 'x' })],
  ['a file that became a link', instead('a', { a: { link: 'd/x' } })],
  ['a file that became a folder', instead('a', { 'a/b/c': 'c', 'a/l': { link: '/' } })],
  ['a folder that became a file', instead('d', { d: 'd' })],
  ['a link that became a folder', instead('link-out', { 'link-out/x': 'x' })],
  ['a folder renamed', (ws) => renameSync(join(ws, 'd'), join(ws, 'moved'))],
  ['a pipe', pipe('d/pipe')],
  ['a pipe in the place of a file', pipe('a')],
  [
    'a new tree closed to its owner',
    (ws) => make(ws, { 'n/o/x': 'x', 'n/o': { mode: 0 }, n: { mode: 0o100 } }),
  ],
  ['a tree closed to its owner', closed('d', 0o444)],
  ['a file closed to its owner', closed('a', 0)],
  ['the top closed to its owner', closed('', 0)],
  [
    'a leftover of a restore that was killed',
    (ws) => writeFileSync(join(ws, 'd/.factory-restore.0123456789abcdef.tmp'), 'half'),
  ],
  [
    'everything removed',
    (ws) => {
      for (const name of readdirSync(ws)) rmSync(join(ws, name), { recursive: true });
    },
  ],
];

test.for(deeds)('%s is undone for any user, and undoing it again changes nothing', async ([, deed]) => {
  await using it = await rig(start);
  await asHeldByModes(it.path, async () => {
    deed(it.ws);
    await it.snapshots.restore(it.before);
    expect(picture(it.ws)).toEqual(it.was);
    expect((await it.snapshots.take(it.before)).id).toBe(it.before.id);
    const inodes = [...it.before.tree.keys()].map((path) => inodeOf(it.ws, path));
    const again = await openSnapshots({ workspace: it.ws, dir: join(it.path, 'snaps') });
    await again.restore(await again.load(it.before.id));
    expect([...it.before.tree.keys()].map((path) => inodeOf(it.ws, path))).toEqual(inodes);
  });
  expect(picture(join(it.path, 'outside'))).toHaveLength(1);
  expect(readFileSync(join(it.path, 'outside/precious'), 'utf8')).toBe('precious');
});

test('folders and files that their owner may not write are put back with their modes', async () => {
  await using it = await rig({
    'r/o/f': { text: 'f', mode: 0o444 },
    'r/o': { mode: 0o555 },
    r: { mode: 0o555 },
    'shut/x': 'x',
  });
  await asHeldByModes(it.path, async () => {
    for (const folder of ['r', 'r/o']) chmodSync(it.at(folder), 0o755);
    rmSync(it.at('r/o/f'));
    make(it.ws, { 'r/o/new': 'n' });
    for (const folder of ['r/o', 'r']) chmodSync(it.at(folder), 0o555);
    await it.snapshots.restore(it.before);
    expect(picture(it.ws)).toEqual(it.was);
    rmSync(it.at('shut/x'));
    await it.snapshots.restore(it.before);
    expect(picture(it.ws)).toEqual(it.was);
  });
});

test('only what differs is touched', async () => {
  await using it = await rig({ a: 'a', b: 'b', 'd/c': 'c', mode: 'm' });
  const others = ['a', 'd', 'd/c'];
  const inodes = others.map((path) => inodeOf(it.ws, path));
  const inode = statSync(it.at('mode')).ino;
  writeFileSync(it.at('b'), 'changed');
  chmodSync(it.at('mode'), 0o777);
  await it.snapshots.restore(it.before);
  expect(others.map((path) => inodeOf(it.ws, path))).toEqual(inodes);
  expect(statSync(it.at('mode')).ino).toBe(inode);
  expect(picture(it.ws)).toEqual(it.was);
});

test('a folder replaced by a link is never followed: nothing outside the workspace changes', async () => {
  await using it = await rig({ 'd/precious': 'mine', 'd/more/x': 'x' });
  rmSync(it.at('d'), { recursive: true });
  symlinkSync('../outside', it.at('d'));
  const outside = picture(join(it.path, 'outside'));
  await it.snapshots.take(it.before);
  await putBack(it.snapshots, it.before, ['d/precious'], () => false);
  expect(readFileSync(it.at('d/precious'), 'utf8')).toBe('mine');
  await it.snapshots.restore(it.before);
  expect(picture(it.ws)).toEqual(it.was);
  expect(picture(join(it.path, 'outside'))).toEqual(outside);
});

test('a file with a second name outside the workspace is replaced, not changed', async () => {
  await using it = await rig({ a: { text: 'precious', mode: 0o644 } });
  const outside = join(it.path, 'outside/precious');
  rmSync(it.at('a'));
  linkSync(outside, it.at('a'));
  chmodSync(outside, 0o600);
  await it.snapshots.restore(it.before);
  expect(picture(it.ws)).toEqual(it.was);
  expect(statSync(outside).mode & 0o777).toBe(0o600);
  expect(statSync(outside).nlink).toBe(1);
});

test('a name in bytes that are no UTF-8 is put back and taken away', async () => {
  await using it = await rig({});
  const odd = Buffer.concat([Buffer.from(`${it.ws}/`), Buffer.from([0xff, 0xfe])]);
  writeFileSync(odd, 'odd');
  symlinkSync(Buffer.from([0xc3, 0x28]), it.at('link'));
  const before = await it.snapshots.take();
  const was = picture(it.ws);
  unlinkSync(odd);
  unlinkSync(it.at('link'));
  writeFileSync(Buffer.concat([odd, Buffer.from([0x80])]), 'another');
  const after = await it.snapshots.take(before);
  expect(diff(before, after)).toMatchObject({
    created: ['\uDCFF\uDCFE\uDC80'],
    deleted: ['link', '\uDCFF\uDCFE'],
  });
  const again = await openSnapshots({ workspace: it.ws, dir: join(it.path, 'snaps') });
  await again.restore(await again.load(before.id));
  expect(picture(it.ws)).toEqual(was);
});

test('a file in a folder that has no room for a longer name is put back', async () => {
  await using it = await rig({ a: 'a' });
  const parts = Array.from({ length: 30 }, () => 'n'.repeat(240));
  let deep = it.ws;
  for (const part of parts) {
    const room = 4090 - deep.length;
    deep = join(deep, part.slice(0, room < 260 ? room : 240));
    if (room < 260) break;
  }
  mkdirSync(deep, { recursive: true });
  writeFileSync(join(deep, 'f'), 'f');
  const before = await it.snapshots.take();
  const was = picture(it.ws);
  writeFileSync(join(deep, 'f'), 'g');
  await it.snapshots.restore(before);
  expect(picture(it.ws)).toEqual(was);
});

test('a tree deeper than the system’s paths reach cannot be recorded, is named so, and is taken away', async () => {
  await using it = await rig({ a: 'a', 'd/x': 'x' });
  const deep = join(it.ws, 'd', ...Array.from({ length: 14 }, () => 'n'.repeat(250)));
  mkdirSync(deep, { recursive: true });
  // Relative names work where whole paths are too long.
  execFileSync('sh', [
    '-c',
    `cd "${deep}" && mkdir -p ${'m'.repeat(250)}/${'m'.repeat(250)}/${'m'.repeat(250)}/end`,
  ]);
  writeFileSync(it.at('a'), 'b');
  await expect(it.snapshots.take(it.before)).rejects.toThrow(/cannot .*nnn.*: the path is longer/);
  await it.snapshots.restore(it.before);
  expect(picture(it.ws)).toEqual(it.was);
});

test('hard links are separate files after a restore', async () => {
  await using it = await rig({ a: 'a' });
  linkSync(it.at('a'), it.at('b'));
  const before = await it.snapshots.take(it.before);
  writeFileSync(it.at('a'), 'more');
  await it.snapshots.restore(before);
  writeFileSync(it.at('a'), 'again');
  expect(readFileSync(it.at('b'), 'utf8')).toBe('a');
});

test('a folder that is replaced by a link in the middle of a restore is not written through', async () => {
  const size = 3_000_000;
  await using it = await rig({ 'd/a': 'a'.repeat(size), 'd/precious': 'ours', 'd/z': 'z' });
  for (const name of ['a', 'precious', 'z']) writeFileSync(it.at(`d/${name}`), 'changed');
  const outside = picture(join(it.path, 'outside'));
  const open = fence(it.ws, () => {
    if (statSync(it.at('d/a')).size < size) return;
    open();
    renameSync(it.at('d'), it.at('moved'));
    symlinkSync('../outside', it.at('d'));
  });
  await expect(it.snapshots.restore(it.before)).rejects.toThrow('stopped being a folder');
  expect(picture(join(it.path, 'outside'))).toEqual(outside);
});

test('a file that was written when the run was taken over does not take its place, and nothing of it stays', async () => {
  await using it = await rig({ a: 'a'.repeat(1_100_000) });
  writeFileSync(it.at('a'), 'theirs');
  const open = fence(it.ws, () => {
    if (readdirSync(it.ws).length > 1) throw new Superseded();
  });
  try {
    await expect(it.snapshots.restore(it.before)).rejects.toThrow(Superseded);
  } finally {
    open();
  }
  expect(readFileSync(it.at('a'), 'utf8')).toBe('theirs');
  expect(readdirSync(it.ws)).toEqual(['a']);
});

test('the top keeps the rights of others when its owner gets them back', async () => {
  await using it = await rig({ a: 'a' });
  chmodSync(it.ws, 0o055);
  await it.snapshots.restore(it.before);
  expect(statSync(it.ws).mode & 0o777).toBe(0o755);
});

test('a closed folder that is none of the paths to restore is closed afterwards', async () => {
  await using it = await rig({ a: 'a', 'closed/b': 'b' });
  await asHeldByModes(it.path, async () => {
    writeFileSync(it.at('a'), 'new');
    chmodSync(it.at('closed'), 0o300);
    await it.snapshots.restore(it.before, (path) => path === 'a');
    expect(statSync(it.at('closed')).mode & 0o777).toBe(0o300);
    expect(readFileSync(it.at('a'), 'utf8')).toBe('a');
  });
});

// Only root can take a snapshot of a folder that may not be entered.
test.runIf(isRoot)('folders get their modes from the inside, since one may hide what is in it', async () => {
  await using it = await rig({ 'o/i/x': 'x', 'o/i': { mode: 0o500 }, o: { mode: 0o600 } });
  await asHeldByModes(it.path, async () => {
    chmodSync(it.at('o'), 0o700);
    chmodSync(it.at('o/i'), 0o700);
    await it.snapshots.restore(it.before);
  });
  expect(picture(it.ws)).toEqual(it.was);
});

test('a change that a snapshot has recorded is undone, though size and facts are the known ones', async () => {
  await using it = await rig({ a: 'one' });
  writeFileSync(it.at('a'), 'two');
  let now = it.before;
  do now = await it.snapshots.take(now);
  while (now.tree.get('a')?.ctimeMs === undefined);
  await it.snapshots.restore(it.before);
  expect(readFileSync(it.at('a'), 'utf8')).toBe('one');
});

test('a file that another process removes during a restore is no error', async () => {
  await using it = await rig({ a: 'a' });
  make(it.ws, { new: 'n', newer: 'n' });
  let asked = 0;
  // First before all is looked at.
  const open = fence(it.ws, () => {
    if (++asked > 1) rmSync(it.at('new'), { force: true });
  });
  try {
    await it.snapshots.restore(it.before);
  } finally {
    open();
  }
  expect(picture(it.ws)).toEqual(it.was);
});

test('a process that lost the run creates no workspace', async () => {
  await using it = await rig({ a: 'a' });
  rmSync(it.ws, { recursive: true });
  const open = fence(it.ws, () => {
    throw new Superseded();
  });
  try {
    expect(() => assertWorkspaceRoot(it.ws)).toThrow(Superseded);
  } finally {
    open();
  }
  expect(readdirSync(it.path)).not.toContain('ws');
});
