/** A stage may leave files of any name in its node's folder. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { copyArtifacts } from '../../src/engine/fork-artifacts.ts';
import { openVisit } from '../../src/engine/node-dir.ts';
import type { VisitRecord } from '../../src/model/visit-record.ts';
import { temp } from '../system/temp.ts';

const odd = Buffer.from('odd\xff', 'latin1');
const below = (folder: string, ...names: Buffer[]) =>
  Buffer.concat([Buffer.from(folder), ...names.flatMap((name) => [Buffer.from('/'), name])]);

/** A folder of such a name with a file in it, and a plain file. */
function leave(dir: string): void {
  mkdirSync(below(dir, odd));
  writeFileSync(below(dir, odd, odd), 'x');
  writeFileSync(join(dir, 'plain'), 'y');
}
const names = (folder: string, ...more: Buffer[]) => readdirSync(below(folder, ...more), 'latin1').sort();

test('what a visit left under names that are no UTF-8 makes way for the next one', async () => {
  await using it = await temp();
  const dir = it.at('n');
  await openVisit(dir, 1, 'm');
  leave(dir);
  await openVisit(dir, 2, 'm');
  expect(names(dir)).toEqual(['stage.json', 'visits']);
  expect(names(join(dir, 'visits/1'))).toEqual(['odd\xff', 'plain', 'stage.json']);
  expect(names(join(dir, 'visits/1'), odd)).toEqual(['odd\xff']);
  leave(dir);
  await openVisit(dir, 2, 'm');
  expect(names(dir)).toEqual(['stage.json', 'visits']);
});

test('a fork takes over what has such a name, of the latest visit and of earlier ones', async () => {
  await using it = await temp();
  const dir = it.at('from/n');
  mkdirSync(it.at('from'));
  for (const visit of [1, 2]) {
    await openVisit(dir, visit, 'm');
    leave(dir);
  }
  const records = [1, 2].map((visit) => ({ type: 'Visit', node: 'n', visit }) as VisitRecord);
  expect(await copyArtifacts(it.at('from'), it.at('to'), records, 'm2')).toEqual([]);
  expect(names(it.at('to/n'))).toEqual(['odd\xff', 'plain', 'stage.json', 'visits']);
  expect(names(it.at('to/n'), odd)).toEqual(['odd\xff']);
  expect(names(it.at('to/n/visits/1'), odd)).toEqual(['odd\xff']);
});
