/** A line of the holdout that a node shows. */
import { expect, test } from 'vitest';
import { succeeded } from '../../../src/core/outcome.ts';
import type { Executed } from '../../../src/engine/layers/layer.ts';
import { leaks } from '../../../src/engine/layers/leaks.ts';
import { HoldoutLeak } from '../../../src/holdout/leak-guard.ts';
import { temp } from '../../platform/temp.ts';
import { noSnapshots } from '../prepared-run.ts';
import { rig, tree } from './rig.ts';

const tool = 'shape=parallelogram, tool_command="x"';

/** A node that shows a line of the holdout; `looked` is what was searched. */
async function shown(dir: string, attributes: string, more: { signal?: AbortSignal; leak?: string } = {}) {
  const restored: string[] = [];
  const looked: object[] = [];
  const afterAttempt = async (attempt: object) => {
    looked.push(attempt);
    return more.leak;
  };
  const restore = async ({ id }: { id: string }) => void restored.push(id);
  const node = await rig(dir, attributes, {
    ...(more.signal === undefined ? {} : { signal: more.signal }),
    run: { leaks: { afterAttempt } as never },
    parts: { snapshots: { ...noSnapshots, restore } },
  });
  const taken = { broken: [], blocked: [], linked: false, touched: [] };
  const executed: Executed = {
    outcome: succeeded(),
    snapshot: tree({ a: '1' }),
    holdout: { removed: taken, copies: () => ['a'] },
  };
  const result = await node.through(leaks, async () => executed).catch((error: unknown) => error);
  await node.close();
  return { result, restored, looked };
}

test('a leak ends the run, with the workspace as before the node', async () => {
  await using it = await temp();
  const { result, restored } = await shown(it.dir, tool, { leak: 'holdout_leak: x' });
  expect(result).toBeInstanceOf(HoldoutLeak);
  expect(restored).toEqual(['s0']);
});
test('a copy that a tool made is undone as a violation, one that an agent made is searched', async () => {
  await using it = await temp();
  expect((await shown(it.dir, tool)).looked).toMatchObject([{ byAgent: false, undone: ['a'] }]);
  expect((await shown(it.dir, 'shape=box')).looked).toMatchObject([{ byAgent: true, undone: [] }]);
});
test('nothing is searched after a cancelled attempt', async () => {
  await using it = await temp();
  const cancelled = await shown(it.dir, tool, { leak: 'x', signal: AbortSignal.abort() });
  expect(cancelled.looked).toEqual([]);
});
