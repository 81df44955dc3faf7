import fs, { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { expect, test, vi } from 'vitest';
import { settleTree } from '../../../src/platform/files/flush-tree.ts';
import { temp } from '../temp.ts';

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
  const opened = await openedBy(() => settleTree(it.dir));
  expect(opened).toEqual([it.dir, odd.toString('latin1'), file.toString('latin1')]);
});

test('where the system has no program that flushes all at once, a large tree is flushed file by file', async () => {
  await using it = await temp();
  mkdirSync(it.at('tree/deep'), { recursive: true });
  for (let n = 0; n < 300; n++) writeFileSync(it.at(`tree/deep/f${n}`), String(n));
  vi.stubEnv('PATH', it.at('nothing'));
  const opened = await openedBy(() => settleTree(it.at('tree')));
  vi.unstubAllEnvs();
  expect(opened).toHaveLength(302);
});

test('of several large trees each disk is flushed once', async () => {
  await using it = await temp();
  for (const tree of ['one', 'two']) {
    mkdirSync(it.at(tree));
    for (let n = 0; n < 150; n++) writeFileSync(it.at(tree, `f${n}`), String(n));
  }
  mkdirSync(it.at('bin'));
  writeFileSync(it.at('bin/sync'), `#!/bin/sh\nprintf '%s\\n' "$@" > '${it.at('asked')}'\n`, { mode: 0o755 });
  vi.stubEnv('PATH', `${it.at('bin')}:${process.env['PATH']}`);
  await settleTree([it.at('one'), it.at('two'), it.at('none')]);
  vi.unstubAllEnvs();
  expect(readFileSync(it.at('asked'), 'utf8').split('\n')).toEqual(['-f', it.at('two'), '']);
});

test('of a closed folder only its own names are flushed, and a missing folder next to it is skipped', async () => {
  await using it = await temp();
  mkdirSync(it.at('node/visits/1'), { recursive: true });
  writeFileSync(it.at('node/now.txt'), 'now');
  writeFileSync(it.at('node/visits/1/then.txt'), 'then');
  const [node, visits, one] = [it.at('node'), it.at('node/visits'), it.at('node/visits/1')];
  const opened = await openedBy(() => settleTree([node, one, it.at('none')], [visits, one]));
  expect(opened.sort()).toEqual([node, it.at('node/now.txt'), visits, one, it.at('none')].sort());
});

/** The paths that are opened meanwhile. */
async function openedBy(work: () => Promise<void>): Promise<string[]> {
  const { openSync } = fs;
  const opened: string[] = [];
  fs.openSync = (path, ...rest) => {
    opened.push(Buffer.from(path as Buffer).toString('latin1'));
    return openSync(path, ...rest);
  };
  syncBuiltinESMExports();
  try {
    await work();
  } finally {
    fs.openSync = openSync;
    syncBuiltinESMExports();
  }
  return opened;
}
