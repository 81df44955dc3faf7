import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { settleTree } from '../../src/system/settle.ts';
import { temp } from './temp.ts';

test.each([3, 300])('a tree of %i files, with links that lead nowhere and out, is flushed', async (files) => {
  await using it = await temp();
  mkdirSync(it.at('tree/deep/empty'), { recursive: true });
  for (let n = 0; n < files; n++) writeFileSync(it.at(`tree/deep/f${n}`), String(n), { mode: 0o400 });
  symlinkSync('nowhere', it.at('tree/dangling'));
  symlinkSync('/dev/full', it.at('tree/device'));
  symlinkSync('.', it.at('tree/round'));
  await expect(settleTree(it.at('tree'))).resolves.toBeUndefined();
});

test('a tree that is not there is flushed already', async () => {
  await using it = await temp();
  await expect(settleTree(it.at('none'))).resolves.toBeUndefined();
});
