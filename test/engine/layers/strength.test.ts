/** Where mutants that no scenario noticed go when the node that measured them has ended. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { succeeded } from '../../../src/core/outcome.ts';
import { layout, nodeLayout } from '../../../src/core/records/layout.ts';
import { strength } from '../../../src/engine/layers/strength.ts';
import { sealedHoldout } from '../../../src/holdout/mount.ts';
import { openText } from '../../../src/holdout/vault.ts';
import { temp } from '../../platform/temp.ts';
import { rig } from './rig.ts';

const judge = 'shape=parallelogram, tool_command="factory scenario run scripts/scenarios --app ."';
const key = Buffer.alloc(32, 7);
const sealed = sealedHoldout(
  { holdout: { paths: ['scripts/scenarios'], from: 'workdir' } } as never,
  [],
  key,
);

/** Runs the layer around a node that leaves this list, and says where it was told to leave it. */
async function left(dir: string, attributes: string, more: Parameters<typeof rig>[2] = {}) {
  const node = await rig(dir, attributes, more);
  let place: string | undefined;
  await node.through(strength, async ({ survivors, before }) => {
    place = survivors;
    if (survivors !== undefined) writeFileSync(survivors, '{"survivors": ["a.js:3 tok-4711-verysecret"]}');
    return { outcome: succeeded({}), snapshot: before };
  });
  await node.close();
  return { place, sealed: nodeLayout(layout(dir).node('a')).survivors };
}

test('survivors are sealed with the key of the holdout, secrets masked, and nothing else of them stays', async () => {
  await using it = await temp();
  const env = { SERVICE_TOKEN: 'tok-4711-verysecret' };
  const { place = '', sealed: file } = await left(it.dir, `${judge}, strength=60`, { run: { sealed, env } });
  expect(existsSync(place)).toBe(false);
  expect(openText(readFileSync(file), key)).toBe('{"survivors": ["a.js:3 ***"]}');
  expect(openText(readFileSync(file), Buffer.alloc(32, 8))).toBeUndefined();
  const texts = readdirSync(it.dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
  expect(texts.filter((text) => text.includes('a.js:3'))).toEqual([]);
});

test('without a holdout there is no key, and nothing is kept', async () => {
  await using it = await temp();
  const { place, sealed: file } = await left(it.dir, `${judge}, min_strength=0.5`);
  expect([place === undefined, existsSync(file)]).toEqual([false, false]);
});

test.for([
  [judge],
  ['shape=parallelogram, tool_command="sh test.sh", strength=60'],
  ['shape=parallelogram, tool_command="factory scenario lint scripts/scenarios", strength=60'],
])('a node with %s has no place for survivors', async ([attributes = '']) => {
  await using it = await temp();
  expect((await left(it.dir, attributes, { run: { sealed } })).place).toBeUndefined();
});
