/** The order of the layers. */
import { expect, test } from 'vitest';
import { succeeded } from '../../../src/core/outcome.ts';
import { type Executed, type Layer, surrounded } from '../../../src/engine/layers/layer.ts';
import { temp } from '../../platform/temp.ts';
import { rig, tree } from './rig.ts';

test('layers begin outermost first, and end in the opposite order', async () => {
  const log: string[] = [];
  const named =
    (name: string): Layer =>
    (next) =>
    async (context) => {
      log.push(`${name} begins`);
      const executed = await next(context);
      log.push(`${name} ends`);
      return executed;
    };
  const ended: Executed = { outcome: succeeded(), snapshot: tree({}) };
  expect(await surrounded([named('a'), named('b')], async () => ended)({} as never)).toBe(ended);
  expect(log).toEqual(['a begins', 'b begins', 'b ends', 'a ends']);
});

test('a part of the context that is added further in is missing, and the error names its layer', async () => {
  await using it = await temp();
  const node = await rig(it.dir, 'shape=parallelogram');
  expect(() => node.context.processes).toThrow('context.processes is added by the layer "sandbox"');
  expect(node.context.attempt.number).toBe(1);
  await node.close();
});
