import fs, { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
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

test('what has a name that is no UTF-8 is flushed like anything else', async () => {
  await using it = await temp();
  const odd = Buffer.concat([Buffer.from(it.at('odd')), Buffer.from([0xff])]);
  const file = Buffer.concat([odd, Buffer.from([0x2f, 0xfe])]);
  mkdirSync(odd);
  writeFileSync(file, 'x');
  const { openSync } = fs;
  const opened: string[] = [];
  fs.openSync = (path, ...rest) => {
    opened.push(Buffer.from(path as Buffer).toString('latin1'));
    return openSync(path, ...rest);
  };
  syncBuiltinESMExports();
  try {
    await settleTree(it.dir);
  } finally {
    fs.openSync = openSync;
    syncBuiltinESMExports();
  }
  expect(opened).toEqual([it.dir, odd.toString('latin1'), file.toString('latin1')]);
});

test('a tree that is not there is flushed already', async () => {
  await using it = await temp();
  await expect(settleTree(it.at('none'))).resolves.toBeUndefined();
});
