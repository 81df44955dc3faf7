import { mkdirSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Probe, verifyCommands } from '../../src/builder/verify.ts';
import { listRepoFiles } from '../../src/planner/files.ts';
import { temp } from '../platform/temp.ts';

test('a folder whose name is not UTF-8 is skipped with its contents', async () => {
  await using it = await temp();
  const odd = Buffer.concat([Buffer.from(it.at('odd')), Buffer.from([0xff])]);
  mkdirSync(odd);
  writeFileSync(Buffer.concat([odd, Buffer.from('/x.py')]), '');
  mkdirSync(it.at('plain'));
  writeFileSync(it.at('plain/y.txt'), '');
  expect(await listRepoFiles(it.dir)).toEqual(['plain/y.txt']);
  const none: Probe = { has: async () => false, imports: async () => false };
  expect(await verifyCommands(it.dir, { verify_exempt: false }, { files: [], probe: none })).toEqual([]);
  await expect(listRepoFiles(it.at('none'))).rejects.toThrow('ENOENT');
});

test('the .git file of a separate working tree or of a submodule is not listed', async () => {
  await using it = await temp();
  mkdirSync(it.at('sub'));
  for (const name of ['.git', 'sub/.git', 'sub/x']) writeFileSync(it.at(name), 'gitdir: elsewhere\n');
  expect(await listRepoFiles(it.dir)).toEqual(['sub/x']);
});
