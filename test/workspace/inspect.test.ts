/** A store looked at, and a folder. */
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ContentStore } from '../../src/contents/store.ts';
import { sha256 } from '../../src/core/sha256.ts';
import { inspectStore, unlike } from '../../src/workspace/inspect.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { asHeldByModes, make, tempFolder } from './folders.ts';

test('one bit anywhere in a pack is reported, and the beginning of an item at its end is not', async () => {
  await using it = tempFolder();
  const [workspace, dir] = [join(it.path, 'ws'), join(it.path, 'snaps')];
  make(workspace, { a: 'a', 'd/b': 'b'.repeat(100) });
  const snapshots = await openSnapshots({ workspace, dir });
  const first = await snapshots.take();
  make(workspace, { c: 'c' });
  const second = await snapshots.take(first);
  const pack = join(dir, 'pack');
  const good = readFileSync(pack);
  expect(await inspectStore(dir)).toEqual({
    problems: [],
    trees: new Set([first.id, second.id]),
    contents: 3,
  });
  for (let at = 0; at < good.length; at++) {
    const bad = Buffer.from(good);
    bad.writeUInt8(bad.readUInt8(at) ^ (1 << (at % 8)), at);
    writeFileSync(pack, bad);
    expect((await inspectStore(dir)).problems, `${at}`).toMatchObject([{ file: 'pack', what: 'changed' }]);
  }
  writeFileSync(pack, Buffer.concat([good, good.subarray(0, 200)]));
  expect((await inspectStore(dir)).problems).toEqual([]);
  chmodSync(pack, 0);
  await asHeldByModes(it.path, () => expect(inspectStore(dir)).rejects.toMatchObject({ code: 'EACCES' }));
});

test('a snapshot under the name of another is reported, as is a pack that is none', async () => {
  await using it = tempFolder();
  const [workspace, dir] = [join(it.path, 'ws'), join(it.path, 'snaps')];
  make(workspace, { a: 'a' });
  const { id } = await (await openSnapshots({ workspace, dir })).take();
  const batch = new ContentStore(dir).begin();
  batch.add('snapshot', 'f'.repeat(64), Buffer.from(sha256('no folder')));
  batch.add('snapshot', id, Buffer.from('e'.repeat(64)));
  await batch.commit();
  await batch.end();
  const { problems, trees } = await inspectStore(dir);
  expect(problems).toMatchObject([{ file: 'pack', what: 'changed' }]);
  // An earlier one of the same name is good.
  expect(trees).toEqual(new Set([id]));
  make(dir, { 'pack-7/x': 'x', other: 'x' });
  const found = (await inspectStore(dir)).problems.map(({ file, what }) => `${file} ${what}`).sort();
  expect(found).toEqual(['other added', 'pack-7 changed']);
});

test('differences of a folder from a snapshot are reported path by path', async () => {
  await using it = tempFolder();
  const workspace = join(it.path, 'ws');
  make(workspace, { a: 'a', b: 'b', c: 'c', d: 'd', 'f/x': 'x', link: { link: 'a' }, gone: 'g', left: 'l' });
  const { tree } = await (await openSnapshots({ workspace, dir: join(it.path, 'snaps') })).take();
  expect(await unlike(workspace, tree, () => false)).toEqual([]);
  writeFileSync(join(workspace, 'a'), 'other');
  chmodSync(join(workspace, 'b'), 0o755);
  for (const name of ['c', 'link', 'gone', 'left']) rmSync(join(workspace, name));
  make(workspace, { 'c/x': 'x', link: { link: 'b' }, new: 'n', passed: 'over' });
  execFileSync('mkfifo', [join(workspace, 'pipe')]);
  const differing = await unlike(workspace, tree, (path) => ['left', 'passed'].includes(path));
  expect(differing.map(({ path, how }) => `${path} ${how}`).sort()).toEqual([
    'a changed',
    'b changed',
    'c changed',
    'c/x added',
    'gone missing',
    'link changed',
    'new added',
  ]);
});
