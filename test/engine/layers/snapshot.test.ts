/** The workspace as a node left it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { succeeded } from '../../../src/core/outcome.ts';
import { layout } from '../../../src/core/records/layout.ts';
import type { Executed } from '../../../src/engine/layers/layer.ts';
import { snapshot } from '../../../src/engine/layers/snapshot.ts';
import { StoreTrouble, WorkspaceError } from '../../../src/platform/files/workspace-error.ts';
import { openSnapshots } from '../../../src/workspace/snapshots.ts';
import { temp } from '../../platform/temp.ts';
import { noSnapshots } from '../prepared-run.ts';
import { rig, tree } from './rig.ts';

const tool = 'shape=parallelogram, tool_command="x"';

const taken = async (dir: string, take: () => Promise<never>, unreadable?: string) => {
  let takes = 0;
  const snapshots = {
    ...noSnapshots,
    take: async (since: Parameters<typeof noSnapshots.take>[0]) =>
      takes++ === 0 && unreadable === undefined ? take() : noSnapshots.take(since),
  };
  const node = await rig(dir, tool, { parts: { snapshots } });
  const inner: Executed = {
    outcome: succeeded(),
    snapshot: tree({}),
    ...(unreadable === undefined ? {} : { unreadable }),
  };
  const ended = await node.through(snapshot, async () => inner).catch((error: unknown) => error);
  await node.close();
  return ended;
};
const reject = (error: Error) => () => Promise.reject(error);

test.for<[string, () => Promise<never>, string?]>([
  ['cannot be read', reject(new WorkspaceError('cannot read "a"'))],
  ['still has holdout files', reject(new Error('must not be asked')), 'cannot read "a"'],
])('a workspace that %s is as before the node again', async ([, take, unreadable]) => {
  await using it = await temp();
  expect(await taken(it.dir, take, unreadable)).toMatchObject({
    unreadable: 'cannot read "a"',
    snapshot: { id: 's0' },
  });
});
test('snapshots that cannot be written end the run', async () => {
  await using it = await temp();
  const full = new StoreTrouble('cannot write');
  expect(await taken(it.dir, reject(full))).toBe(full);
});
test('what no snapshot can hold is removed', async () => {
  await using it = await temp();
  const at = layout(it.dir);
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents, sync: false });
  const node = await rig(it.dir, tool, { parts: { snapshots } });
  const before = await snapshots.take();
  const { execFileSync } = await import('node:child_process');
  const executed = await snapshot(async () => {
    execFileSync('mkfifo', [join(at.workspace, 'pipe')]);
    return { outcome: succeeded(), snapshot: before };
  })(node.context.with({ before }));
  await node.close();
  expect(executed.strays).toMatchObject([{ path: 'pipe', isSocket: false }]);
  expect(existsSync(join(at.workspace, 'pipe'))).toBe(false);
});
