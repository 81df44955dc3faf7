/** A store looked at, and a folder. */
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inspectStore, unlike } from '../../src/workspace/inspect.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { asHeldByModes, make, tempFolder } from './folders.ts';

test('a content that lies in two packs is looked at in each', async () => {
  await using it = tempFolder();
  const dir = join(it.path, 'snaps');
  // Each has begun before the other has anything.
  const openings = await Promise.all(
    ['one', 'other'].map(async (name) => {
      const workspace = join(it.path, name);
      make(workspace, { shared: 'shared', own: name });
      return openSnapshots({ workspace, dir });
    }),
  );
  for (const opening of openings) await opening.take();
  const packs = readdirSync(dir).filter((name) => name.startsWith('pack'));
  expect(packs).toHaveLength(2);
  for (const pack of packs) {
    const good = readFileSync(join(dir, pack), 'utf8');
    writeFileSync(join(dir, pack), good.replace('shared', 'sharec'));
    expect((await inspectStore(dir)).problems).toMatchObject([{ file: pack, what: 'changed' }]);
    writeFileSync(join(dir, pack), good);
  }
  expect(await inspectStore(dir)).toMatchObject({ problems: [], contents: 4 });
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

test('a tree under the name of another is reported, and one that may not be read is not called changed', async () => {
  await using it = tempFolder();
  const [workspace, dir] = [join(it.path, 'ws'), join(it.path, 'snaps')];
  make(workspace, { a: 'a' });
  const snapshots = await openSnapshots({ workspace, dir });
  const first = await snapshots.take();
  make(workspace, { b: 'b' });
  const second = await snapshots.take();
  const [one, other] = [first, second].map(({ id }) => join(dir, 'trees', `${id}.json`)) as [string, string];
  copyFileSync(one, other);
  expect((await inspectStore(dir)).problems).toMatchObject([
    {
      file: `trees/${second.id}.json`,
      what: 'changed',
      why: expect.stringContaining('is not what was written there'),
    },
  ]);
  chmodSync(other, 0);
  await asHeldByModes(it.path, () => expect(inspectStore(dir)).rejects.toMatchObject({ code: 'EACCES' }));
});
