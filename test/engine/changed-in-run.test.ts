/** What agents and tools of a run have changed before an execution. */
import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { layout } from '../../src/core/records/layout.ts';
import type { Snapshots } from '../../src/workspace/snapshot.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { temp } from '../platform/temp.ts';
import { make } from '../workspace/folders.ts';
import { rig } from './layers/rig.ts';

test('a node can ask which paths the run has created, modified and deleted before it', async () => {
  await using it = await temp();
  const at = layout(it.dir);
  make(at.workspace, { 'kept.txt': 'x', 'src/a.js': '1', 'gone/b.js': '2' });
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents, sync: false });
  const start = await snapshots.take();
  make(at.workspace, { 'src/a.js': '10', 'tests/new.js': '3' });
  rmSync(`${at.workspace}/gone`, { recursive: true });
  const snapshot = await snapshots.take(start);
  make(at.workspace, { 'during.txt': 'not before the execution' });

  let loads = 0;
  const counting: Snapshots = Object.assign(Object.create(snapshots), {
    load: (id: string) => {
      loads++;
      return snapshots.load(id);
    },
  });
  const node = await rig(it.dir, 'shape=parallelogram, tool_command="true"', {
    snapshots: counting,
    snapshot,
    run: { start: start.id },
  });
  const changed = await node.context.changedInRun();
  expect([...changed].sort()).toEqual([
    ['gone', 'deleted'],
    ['gone/b.js', 'deleted'],
    ['src/a.js', 'modified'],
    ['tests', 'created'],
    ['tests/new.js', 'created'],
  ]);
  expect(await node.context.changedInRun()).toBe(changed);
  expect(loads).toBe(1);
  await node.close();
});
