import {
  chmodSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lookout } from '../../src/workspace/walk.ts';
import { temp } from '../platform/temp.ts';

const now = () => new Date();
const later = () => new Date(Date.now() + 60_000);

async function rig() {
  const it = await temp();
  mkdirSync(it.at('w/d'), { recursive: true });
  writeFileSync(it.at('w/d/f'), 'f');
  symlinkSync('f', it.at('w/d/l'));
  return { ...it, w: it.at('w'), [Symbol.asyncDispose]: it[Symbol.asyncDispose] };
}

const changes: readonly (readonly [string, (at: string) => void])[] = [
  ['a new file', (at) => writeFileSync(join(at, 'd/new'), '')],
  ['a file that went', (at) => rmSync(join(at, 'd/f'))],
  ['a file that was moved', (at) => renameSync(join(at, 'd/f'), join(at, 'd/g'))],
  ['other content', (at) => writeFileSync(join(at, 'd/f'), 'g')],
  ['another mode', (at) => chmodSync(join(at, 'd/f'), 0o755)],
  [
    'a link that leads elsewhere',
    (at) => {
      unlinkSync(join(at, 'd/l'));
      symlinkSync('g', join(at, 'd/l'));
    },
  ],
  ['a huge file', (at) => truncateSync(join(at, 'd/f'), 100 * 1024 * 1024)],
  ['a workspace that went', (at) => rmSync(at, { recursive: true })],
];

describe('a look', () => {
  test.for(changes)('finds %s', async ([, change]) => {
    await using it = await rig();
    const look = lookout(it.w);
    // Everything here is new to the first look.
    expect(await look.changedSince(now())).toBe(true);
    change(it.w);
    expect(await look.changedSince(now())).toBe(true);
  });

  test('that began before finds nothing in what lay there, however new, and each change after', async () => {
    await using it = await rig();
    const look = lookout(it.w);
    look.begin();
    expect(await look.changedSince(now())).toBe(false);
    writeFileSync(join(it.w, 'd/f'), 'other');
    expect(await look.changedSince(now())).toBe(true);
    expect(await look.changedSince(now())).toBe(false);
  });

  test('does not look at what a link in the workspace’s place leads to', async () => {
    await using it = await rig();
    const before = lookout(it.w);
    before.begin();
    renameSync(it.w, it.at('other'));
    symlinkSync('other', it.w);
    for (const look of [before, lookout(it.w)]) {
      look.begin();
      expect(await look.changedSince(later())).toBe(true);
    }
  });

  test('finds nothing where nothing was touched since then', async () => {
    await using it = await rig();
    expect(await lookout(it.w).changedSince(later())).toBe(false);
  });

  test.for([
    ['written again with the same content', (at: string) => writeFileSync(join(at, 'd/f'), 'f')],
    [
      'recreated unchanged',
      (at: string) => {
        rmSync(join(at, 'd/f'));
        writeFileSync(join(at, 'd/f'), 'f');
      },
    ],
    ['touched', (at: string) => utimesSync(join(at, 'd/f'), 1, 1)],
  ] as const)('takes a file that was %s for the same', async ([, change]) => {
    await using it = await rig();
    const look = lookout(it.w);
    await look.changedSince(now());
    change(it.w);
    expect(await look.changedSince(now())).toBe(false);
  });
});

test('of a file too large to compare each touch counts', async () => {
  await using it = await rig();
  const large = join(it.w, 'd/f');
  truncateSync(large, 65 * 1024 * 1024);
  const look = lookout(it.w);
  look.begin();
  for (const time of [1, 2]) {
    utimesSync(large, time, time);
    expect(await look.changedSince(now())).toBe(true);
  }
});

test('a file at rest is remembered by what it holds', async () => {
  await using it = await rig();
  const look = lookout(it.w);
  await look.changedSince(now());
  expect(await look.changedSince(later())).toBe(false);
  utimesSync(join(it.w, 'd/f'), 1, 1);
  expect(await look.changedSince(now())).toBe(false);
});
