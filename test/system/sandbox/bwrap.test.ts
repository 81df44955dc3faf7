/** What is made ready for a sandbox before it is started. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fence, Superseded } from '../../../src/system/fence.ts';
import { bwrapArguments } from '../../../src/system/sandbox/bwrap.ts';
import type { Confinement } from '../../../src/system/sandbox/confinement.ts';
import { temp } from '../../system/temp.ts';

test('nothing is made ready in a run that is another’s by now', async () => {
  await using it = await temp();
  const open = fence(it.dir, () => {
    throw new Superseded('taken');
  });
  const confinement = { inside: [], masks: [], binds: [], scratch: it.at('scratch/work') };
  expect(() => bwrapArguments(confinement as unknown as Confinement, '/')).toThrow(Superseded);
  expect(existsSync(it.at('scratch'))).toBe(false);
  open();
});
