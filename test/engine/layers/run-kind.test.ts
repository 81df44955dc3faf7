/** The run function of a node type. */
import { expect, test } from 'vitest';
import { runKind } from '../../../src/engine/layers/run-kind.ts';
import { temp } from '../../platform/temp.ts';
import { rig } from './rig.ts';

const tool = 'shape=parallelogram, tool_command="x"';

const rejecting = (code: string) => async () => {
  throw Object.assign(new Error(`${code}: no such folder`), { code });
};
test('a system error is a failure of the node, a disk error ends the run', async () => {
  await using it = await temp();
  const node = await rig(it.dir, tool);
  const kind = (code: string) => ({ ...node.context.kind, run: rejecting(code) });
  expect(await runKind(node.context.with({ kind: kind('ENOTDIR') }))).toMatchObject({
    outcome: {
      class: 'infra',
      broke: true,
      reason: 'cannot use the run directory: ENOTDIR: no such folder',
    },
    error: { code: 'ENOTDIR' },
  });
  await expect(runKind(node.context.with({ kind: kind('ENOSPC') }))).rejects.toThrow('ENOSPC');
  await node.close();
});
