/** The holdout in the workspace while a node runs. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { succeeded } from '../../../src/core/outcome.ts';
import { layout } from '../../../src/core/records/layout.ts';
import { holdoutMount } from '../../../src/engine/layers/holdout.ts';
import { sealedHoldout } from '../../../src/holdout/mount.ts';
import { temp } from '../../platform/temp.ts';
import { make } from '../../workspace/folders.ts';
import { rig } from './rig.ts';

const tool = 'shape=parallelogram, tool_command="x"';

const folder = { path: 'scripts/scenarios', kind: 'dir', mode: 0o755, content: Buffer.alloc(0) } as const;
const file = {
  path: 'scripts/scenarios/s.sh',
  kind: 'file',
  mode: 0o644,
  content: Buffer.from('secret check\n'.repeat(9)),
} as const;
const sealed = sealedHoldout(
  { holdout: { paths: ['scripts/scenarios'], from: 'workdir' } } as never,
  [folder, file],
  Buffer.alloc(32),
);

test.for<[string, string, boolean]>([
  ['a tool', tool, true],
  ['a tool that must not see it', `${tool}, sees_holdout=false`, false],
  ['an agent', 'shape=box', false],
])('%s finds it in the workspace: %s %s', async ([, attributes, sees]) => {
  await using it = await temp();
  const node = await rig(it.dir, attributes, { run: { sealed } });
  const place = join(layout(it.dir).workspace, file.path);
  const executed = await node.through(holdoutMount, async ({ before }) => {
    expect(existsSync(place)).toBe(sees);
    make(layout(it.dir).workspace, { [file.path]: 'changed' });
    return { outcome: succeeded(), snapshot: before };
  });
  await node.close();
  expect(existsSync(place)).toBe(false);
  expect(executed.holdout?.removed.broken).toEqual([file.path]);
  expect(node.context.hidden.sealed).toEqual([file.path]);
});
test('a run without one passes by', async () => {
  await using it = await temp();
  const node = await rig(it.dir, tool);
  expect(await node.through(holdoutMount, succeeded())).not.toHaveProperty('holdout');
  await node.close();
});
