/** Restores of some paths: what a stage wrote out of its scope. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { diff } from '../../src/workspace/diff.ts';
import { putBack } from '../../src/workspace/restore.ts';
import { make, picture } from './folders.ts';
import { rig } from './rig.ts';

test('a restore of some paths leaves the others as they are', async () => {
  await using it = await rig({ 'in/a': 'a', 'in/gone': 'g', 'out/b': 'b', 'out/gone': 'g', c: 'c' });
  for (const path of ['in/a', 'out/b', 'c', 'in/new', 'out/new']) writeFileSync(it.at(path), 'new');
  for (const path of ['in/gone', 'out/gone']) rmSync(it.at(path));
  chmodSync(it.at('in'), 0o700);
  await it.snapshots.restore(it.before, (path) => path.startsWith('in/'));
  expect(readdirSync(it.at('in'))).toEqual(['a', 'gone']);
  expect(readdirSync(it.at('out'))).toEqual(['b', 'new']);
  expect(readFileSync(it.at('in/a'), 'utf8')).toBe('a');
  expect(readFileSync(it.at('c'), 'utf8')).toBe('new');
  expect(statSync(it.at('in')).mode & 0o777).toBe(0o700);
});

test('what a stage wrote out of its scope is put back, what it was allowed stays', async () => {
  await using it = await rig({
    'src/a': 'a',
    'src/exe': { text: 'e', mode: 0o755 },
    'docs/x': 'x',
    keep: { link: 'docs' },
  });
  writeFileSync(it.at('src/a'), 'allowed');
  make(it.ws, {
    'src/new/file': 'allowed',
    'docs/bad': 'bad',
    'gen/deep/bad': 'bad',
    'gen/void/none': {},
    'half/good.txt': 'good',
    'half/bad': 'bad',
  });
  chmodSync(it.at('src/exe'), 0o600);
  rmSync(it.at('docs/x'));
  unlinkSync(it.at('keep'));
  const after = await it.snapshots.take(it.before);
  const changes = diff(it.before, after);
  const allowed = (path: string): boolean =>
    ['src/a', 'half/good.txt'].includes(path) || path.startsWith('src/new/');
  const all = [...changes.created, ...changes.modified, ...changes.deleted];
  await putBack(
    it.snapshots,
    it.before,
    all.filter((path) => !allowed(path)),
    allowed,
  );
  const left = diff(it.before, await it.snapshots.take(after));
  expect(left).toEqual({
    created: ['half/good.txt', 'src/new/file'],
    modified: ['src/a'],
    deleted: [],
    folders: { created: ['half', 'src/new'], modified: [], deleted: [] },
  });
});

test.for([
  [
    'a file became a folder',
    { d: 'file' },
    (ws: string) => {
      unlinkSync(join(ws, 'd'));
      make(ws, { 'd/x': 'x' });
    },
    ['d', 'd/x'],
    ['d'],
  ],
  [
    'a file became a folder, its end allowed',
    { d: 'file' },
    (ws: string) => {
      unlinkSync(join(ws, 'd'));
      make(ws, { 'd/x': 'x' });
    },
    ['d/x'],
    [],
  ],
  [
    'a folder became a file',
    { 'd/x': 'x' },
    (ws: string) => {
      rmSync(join(ws, 'd'), { recursive: true });
      writeFileSync(join(ws, 'd'), 'f');
    },
    ['d/x'],
    ['d', 'd/x'],
  ],
  [
    'a pipe is next to a bad file',
    {},
    (ws: string) => {
      make(ws, { 'n/bad': 'x' });
      execFileSync('mkfifo', [join(ws, 'n/pipe')]);
    },
    ['n/bad'],
    [],
  ],
  [
    'a mode changed of a folder',
    { d: { mode: 0o700 } },
    (ws: string) => chmodSync(join(ws, 'd'), 0o777),
    ['d'],
    ['d'],
  ],
  ['an empty folder appeared', {}, (ws: string) => mkdirSync(join(ws, 'n')), ['n'], []],
] as const)('where %s the offending paths are as before', async ([, wanted, deed, offending, expected]) => {
  await using it = await rig(wanted);
  deed(it.ws);
  await it.snapshots.take(it.before);
  await putBack(it.snapshots, it.before, offending, () => false);
  expect(picture(it.ws).map((line) => line.split(' ')[0])).toEqual(expected);
  if (expected.length > 0) expect(picture(it.ws)).toEqual(it.was);
});

test('of a new folder that is to go only what is to go with it does', async () => {
  await using it = await rig({ a: 'a' });
  make(it.ws, { 'new/bad': 'bad', 'new/mine/ok': 'ok', 'new/ok': 'ok' });
  await it.snapshots.restore(it.before, (path) => path === 'new' || path === 'new/bad');
  expect(readdirSync(it.at('new'))).toEqual(['mine', 'ok']);
  expect(readdirSync(it.at('new/mine'))).toEqual(['ok']);
});

test('an empty folder that was allowed by its name and a slash stays in a new one', async () => {
  await using it = await rig({ a: 'a' });
  make(it.ws, { 'new/bad': 'bad', 'new/mine': {}, 'new/other': {} });
  await it.snapshots.take(it.before);
  await putBack(it.snapshots, it.before, ['new/bad'], (path) => path === 'new/mine/');
  expect(readdirSync(it.at('new'))).toEqual(['mine']);
});
