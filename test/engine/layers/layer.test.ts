/** The order of the layers. */
import { expect, test } from 'vitest';
import { type Executed, type Layer, surrounded } from '../../../src/engine/layers/layer.ts';
import { succeeded } from '../../../src/model/outcome.ts';
import { tree } from './rig.ts';

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
