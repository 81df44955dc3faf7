/** What of snapshots and hidden files is on the disk, and in which order: what a power cut would leave. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { noteDisk } from '../support/disk-notes.ts';
import { make, tempFolder } from './folders.ts';

/** Where in the notes the first and the last of them stand that begin like this; both must be there. */
function span(told: readonly string[], beginning: string): { readonly first: number; readonly last: number } {
  const first = told.findIndex((what) => what.startsWith(beginning));
  expect({ beginning, isThere: first >= 0, told }).toEqual({ beginning, isThere: true, told });
  return { first, last: told.findLastIndex((what) => what.startsWith(beginning)) };
}

test('contents are on the disk, and their names, before a snapshot names them, and the snapshot when it is taken', async () => {
  await using it = tempFolder();
  const [workspace, dir] = [join(it.path, 'ws'), join(it.path, 'snaps')];
  make(workspace, { small: 'small', large: 'x'.repeat(1_100_000) });
  using disk = noteDisk();
  const { openSnapshots } = await import('../../src/workspace/snapshots.ts');
  const { told } = disk;
  const snapshots = await openSnapshots({ workspace, dir });
  const [pack, large, trees] = ['pack', 'large', 'trees'].map((name) => join(dir, name));
  const first = await snapshots.take();
  const tree = span(told, `moved ${trees}/.`).first;
  expect(span(told, `flushed ${pack}`).last).toBeLessThan(tree);
  expect(span(told, `flushed ${large}/.`).last).toBeLessThan(span(told, `moved ${large}/.`).first);
  const named = told.lastIndexOf(`flushed ${large}`);
  expect(named).toBeGreaterThan(span(told, `moved ${large}/.`).last);
  for (const folder of [large, dir]) expect(told.indexOf(`flushed ${folder}`)).toBeLessThan(tree);
  expect(told.lastIndexOf(`flushed ${dir}`)).toBeGreaterThan(-1);
  expect(span(told, `flushed ${trees}/.`).last).toBeLessThan(tree);
  expect(told.lastIndexOf(`flushed ${trees}`)).toBeGreaterThan(tree);

  // Later contents, into existing files.
  told.length = 0;
  make(workspace, { more: 'more', larger: 'y'.repeat(1_200_000) });
  expect((await snapshots.take(first)).id).not.toBe(first.id);
  const next = span(told, `moved ${trees}/.`).first;
  expect(span(told, `flushed ${pack}`).last).toBeLessThan(next);
  const moved = span(told, `moved ${large}/.`).last;
  expect(told.slice(moved, next)).toContain(`flushed ${large}`);
});

test('the name of a large content whose flush has failed is flushed before a snapshot names it', async () => {
  await using it = tempFolder();
  const [workspace, dir] = [join(it.path, 'ws'), join(it.path, 'snaps')];
  make(workspace, { a: 'a'.repeat(1_100_000) });
  using disk = noteDisk();
  const { openSnapshots } = await import('../../src/workspace/snapshots.ts');
  const snapshots = await openSnapshots({ workspace, dir });
  const first = await snapshots.take();
  make(workspace, { b: 'b'.repeat(1_200_000) });
  const large = join(dir, 'large');
  disk.fail(large);
  await expect(snapshots.take(first)).rejects.toThrow('EIO');
  disk.mend();
  // Finds the existing contents.
  await snapshots.load(first.id);
  disk.told.length = 0;
  await snapshots.take(first);
  const tree = span(disk.told, `moved ${join(dir, 'trees')}/.`).first;
  expect(disk.told.slice(0, tree)).toContain(`flushed ${large}`);
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
  const { copyStore } = await import('../../src/workspace/copy-store.ts');
  const { id, tree } = await (await openSnapshots({ workspace, dir })).take();
  disk.told.length = 0;
  await copyStore(dir, copy);
  const hash = tree.get('large')?.hash ?? '';
  expect(disk.told).toEqual(
    [`trees/${id}.json`, 'trees', `large/${hash}`, 'large', 'pack', ''].map(
      (path) => `flushed ${join(copy, path)}`,
    ),
  );
});
