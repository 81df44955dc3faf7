/** The folders in which branches work. */
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { layout } from '../../src/core/records/layout.ts';
import { branchPlaces } from '../../src/engine/branch-places.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { graphOf } from '../support/graph.ts';
import { make, picture, tempFolder } from '../workspace/folders.ts';

const others = { graph: graphOf('a; b; a -> b'), log: () => {} };

/** A run whose workspace holds this, with the folders of the branches that begin there. */
async function begun() {
  const it = tempFolder();
  const at = layout(it.path);
  make(at.workspace, {
    'a.txt': 'a',
    'lib/deep/b.txt': 'b',
    'run.sh': { text: 'exit 0', mode: 0o755 },
    link: { link: 'a.txt' },
    empty: { mode: 0o755 },
  });
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents, sync: 'later' });
  const base = await snapshots.take();
  const places = branchPlaces({ ...others, runDir: it.path, snapshots }, { node: 'fan' });
  const ofBranches = join(at.scratch, '.branches', 'fan');
  return { ...it, at, snapshots, base, places, ofBranches, was: picture(at.workspace) };
}

test('each branch has a folder with its own files, and what it changes there is in its snapshots alone', async () => {
  await using run = await begun();
  const { places, base, was } = run;
  const [a, b] = await Promise.all(['a', 'b'].map((id) => places.open(id, { snapshot: base.id })));
  if (a === undefined || b === undefined) throw new Error('no places');
  expect([a.snapshot.id, b.snapshot.id]).toEqual([base.id, base.id]);
  expect([picture(a.workspace), picture(b.workspace)]).toEqual([was, was]);
  writeFileSync(join(a.workspace, 'a.txt'), 'of a');
  rmSync(join(b.workspace, 'lib'), { recursive: true });
  const [ofA, ofB] = await Promise.all([a.snapshots.take(a.snapshot), b.snapshots.take(b.snapshot)]);
  expect((await run.snapshots.read(ofA.tree.get('a.txt')?.hash ?? '')).toString()).toBe('of a');
  expect([ofB.tree.has('lib/deep/b.txt'), ofA.tree.has('lib/deep/b.txt')]).toEqual([false, true]);
  expect((await run.snapshots.take(base)).id).toBe(base.id);
});

test('a branch takes over the folder of one that has ended, with nothing of it left', async () => {
  await using run = await begun();
  const { places, base, was, ofBranches } = run;
  const a = await places.open('a', { snapshot: base.id });
  make(a.workspace, { 'of a': 'a', 'lib/deep/more': 'a', 'new/folder': { mode: 0o500 } });
  renameSync(join(a.workspace, 'run.sh'), join(a.workspace, 'empty', 'run.sh'));
  const end = await a.snapshots.take(a.snapshot);
  make(a.workspace, { 'after its last snapshot': '' });
  await a.release();
  const b = await places.open('b', { snapshot: base.id });
  expect([b.snapshot.id, picture(b.workspace), readdirSync(ofBranches)]).toEqual([base.id, was, ['b']]);
  const again = await places.open('a', { snapshot: end.id });
  expect([again.snapshot.id, again.workspace, readdirSync(ofBranches)]).toEqual([
    end.id,
    a.workspace,
    ['a', 'b'],
  ]);
});

test('a folder that was left half made is made anew, and the end of the fork removes all of its folders', async () => {
  await using run = await begun();
  const { places, base, was, ofBranches } = run;
  make(ofBranches, { 'a/half': 'made', 'a/locked': { mode: 0 } });
  const a = await places.open('a', { snapshot: base.id });
  expect(picture(a.workspace)).toEqual(was);
  const inner = branchPlaces({ ...others, runDir: run.path, snapshots: a.snapshots }, { node: 'fan.inner' });
  const of = await inner.open('x', { snapshot: base.id });
  expect(picture(of.workspace)).toEqual(was);
  await of.release();
  await inner.close();
  expect(picture(a.workspace)).toEqual(was);
  await a.release();
  await places.close();
  expect(existsSync(run.at.scratch) && readdirSync(run.at.scratch).length > 0).toBe(false);
});
