import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { changedSince } from '../../src/workspace/newest.ts';
import { temp } from '../system/temp.ts';

const later = (ms: number) => new Date(Date.now() + ms);

test.for([
  ['a new file', (at: string) => writeFileSync(join(at, 'd/new'), '')],
  ['a file that went', (at: string) => rmSync(join(at, 'd/f'))],
  ['a file that was moved', (at: string) => renameSync(join(at, 'd/f'), join(at, 'd/g'))],
  ['a new link', (at: string) => symlinkSync('nowhere', join(at, 'd/link'))],
  ['a file whose times were set back', (at: string) => utimes(join(at, 'd/f'), 1, 1)],
] as const)('%s is a change, and none any more for who asks later', async ([, change]) => {
  await using it = await temp();
  mkdirSync(it.at('d'));
  writeFileSync(it.at('d/f'), 'f');
  await change(it.dir);
  expect(changedSince(it.dir, later(0))).toBe(true);
  expect(changedSince(it.dir, later(60_000))).toBe(false);
});

test('what goes directly from the folder itself is a change', async () => {
  await using it = await temp();
  mkdirSync(it.at('w'));
  writeFileSync(it.at('w/f'), '');
  rmSync(it.at('w/f'));
  expect(changedSince(it.at('w'), later(0))).toBe(true);
});
