/** A node's folder between two visits: whatever a stage has left there, and while another engine takes the run over. */
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { copyArtifacts } from '../../src/app/run/copy-artifacts.ts';
import type { VisitRecord } from '../../src/core/records/visit.ts';
import { fence, Superseded } from '../../src/platform/files/fence.ts';
import { closeVisit, openVisit } from '../../src/run/node-directory.ts';
import { temp } from '../platform/temp.ts';

const pictureOf = (dir: string): readonly string[] =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .sort()
    .map(
      (name) => `${name} ${statSync(join(dir, name)).isFile() ? readFileSync(join(dir, name), 'utf8') : ''}`,
    );

// As for an engine that is stopped there: what it has asked leave for is done by then, or is not done.
test.each([1, 2, 3, 4, 5])(
  'nothing is under way in a node’s folder when the run is taken over after look %i at whose it is',
  async (look) => {
    await using it = await temp();
    const dir = it.at('check');
    mkdirSync(dir);
    const stage = { schema_version: 1, visit: 1, attempt: 1, marker: 'm', process: null };
    for (const [name, text] of Object.entries({ 'status.json': '{}', 'stage.json': JSON.stringify(stage) }))
      writeFileSync(join(dir, name), text);
    let looks = 0;
    let taken: readonly string[] | undefined;
    const open = fence(it.dir, () => {
      if (taken !== undefined) throw new Superseded('taken');
      looks += 1;
      if (looks === look)
        queueMicrotask(() => {
          taken = pictureOf(dir);
        });
    });
    await openVisit(dir, 2, 'm').catch((error: unknown) => {
      if (!(error instanceof Superseded)) throw error;
    });
    open();
    if (taken !== undefined) expect(pictureOf(dir)).toEqual(taken);
  },
);

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

// As a check of the disk after a power cut leaves it, where there is no journal.
test.each([
  ['two names of one file', (from: string, to: string) => linkSync(from, to)],
  ['a folder in its place', (_: string, to: string) => mkdirSync(join(to, 'in'), { recursive: true })],
  ['a link in its place', (_: string, to: string) => symlinkSync('/nowhere', to)],
] as const)('a move that a power cut has left at both places is taken up again: %s', async (_, leave) => {
  await using it = await temp();
  const dir = it.at('check');
  mkdirSync(join(dir, 'visits', '1'), { recursive: true });
  const stage = { schema_version: 1, visit: 1, attempt: 1, marker: 'm', process: null };
  for (const [name, text] of Object.entries({ 'prompt.md': 'one', 'stage.json': JSON.stringify(stage) })) {
    writeFileSync(join(dir, name), text);
    leave(join(dir, name), join(dir, 'visits', '1', name));
  }
  mkdirSync(join(dir, 'own'));
  leave(join(dir, 'prompt.md'), join(dir, 'visits', '1', 'own'));
  await openVisit(dir, 2, 'm');
  expect(readdirSync(dir).sort()).toEqual(['stage.json', 'visits']);
  expect(readdirSync(join(dir, 'visits', '1')).sort()).toEqual(['own', 'prompt.md', 'stage.json']);
  expect(readFileSync(join(dir, 'visits', '1', 'prompt.md'), 'utf8')).toBe('one');
  expect(JSON.parse(readFileSync(join(dir, 'visits', '1', 'stage.json'), 'utf8'))).toEqual(stage);
});

const noted = (visit: number, marker = 'm') =>
  JSON.stringify({ schema_version: 1, visit, attempt: 1, marker, process: null });

test.each([
  ['takes away', (path: string) => rmSync(path)],
  ['writes another visit into', (path: string) => writeFileSync(path, noted(1))],
  ['writes another run into', (path: string) => writeFileSync(path, noted(2, 'other'))],
] as const)('a stage that %s its stage file is known by it all the same', async (_, act) => {
  await using it = await temp();
  const dir = it.at('n');
  await closeVisit(dir, 1, 'm', await openVisit(dir, 1, 'm'));
  const stood = await openVisit(dir, 2, 'm');
  writeFileSync(join(dir, 'plain'), 'two');
  act(join(dir, 'stage.json'));
  mkdirSync(join(dir, 'visits/2/plain'), { recursive: true });
  await closeVisit(dir, 2, 'm', stood);
  expect(JSON.parse(readFileSync(join(dir, 'stage.json'), 'utf8'))).toMatchObject({ visit: 2, marker: 'm' });
  expect(names(join(dir, 'visits'))).toEqual(['1']);
  await openVisit(dir, 3, 'm');
  expect(readFileSync(join(dir, 'visits/2/plain'), 'utf8')).toBe('two');
});

test.each([
  ['a link in the place of', (visits: string, outside: string) => symlinkSync(outside, visits)],
  ['a file in the place of', (visits: string) => writeFileSync(visits, '')],
  ['no', () => {}],
] as const)('a stage that leaves %s the folder of earlier visits reaches nothing outside', async (_, put) => {
  await using it = await temp();
  const dir = it.at('n');
  const outside = it.at('outside');
  mkdirSync(join(outside, '2'), { recursive: true });
  writeFileSync(join(outside, 'precious'), 'ours');
  await closeVisit(dir, 1, 'm', await openVisit(dir, 1, 'm'));
  const stood = await openVisit(dir, 2, 'm');
  rmSync(join(dir, 'visits'), { recursive: true });
  put(join(dir, 'visits'), outside);
  await closeVisit(dir, 2, 'm', stood);
  expect(names(outside)).toEqual(['2', 'precious']);
  await openVisit(dir, 3, 'm');
  expect(names(join(dir, 'visits'))).toEqual(['2']);
});

test('executions that a node has invented are removed, and so is an entry in its place', async () => {
  await using it = await temp();
  const dir = it.at('n');
  await closeVisit(dir, 1, 'm', await openVisit(dir, 1, 'm'));
  for (const made of ['7', 'none', '2', '02', '3']) {
    const stood = await openVisit(dir, 2, 'm');
    mkdirSync(join(dir, 'visits', made));
    await closeVisit(dir, 2, 'm', stood);
    expect(names(join(dir, 'visits')), made).toEqual(['1']);
  }
});

test.each([1, 2])(
  'a stage that was cut and called itself visit %i changes nothing of the finished ones',
  async (said) => {
    await using it = await temp();
    const dir = it.at('n');
    for (const visit of [1, 2]) {
      const stood = await openVisit(dir, visit, 'm');
      writeFileSync(join(dir, 'plain'), `of visit ${visit}`);
      await closeVisit(dir, visit, 'm', stood);
    }
    await openVisit(dir, 3, 'm');
    const before = pictureOf(join(dir, 'visits'));
    writeFileSync(join(dir, 'plain'), 'of the cut one');
    writeFileSync(join(dir, 'stage.json'), noted(said));
    await openVisit(dir, 3, 'm');
    expect(pictureOf(join(dir, 'visits'))).toEqual(before);
    expect(names(dir)).toEqual(['stage.json', 'visits']);
  },
);
