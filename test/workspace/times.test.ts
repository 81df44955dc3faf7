/** When files were last written, which build tools go by: a restore gives the times back. */
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fence } from '../../src/platform/files/fence.ts';
import { putBack } from '../../src/workspace/restore.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { asHeldByModes, isRoot } from './folders.ts';
import { rig } from './rig.ts';

/** As another process would find it. */
const again = (it: Awaited<ReturnType<typeof rig>>, ws = it.ws) =>
  openSnapshots({ workspace: ws, dir: join(it.path, 'snaps') });

const timesIn = (ws: string, names: readonly string[]): readonly number[] =>
  names.map((name) => lstatSync(join(ws, name)).mtimeMs);

/** What a stage may do to a file. */
const deeds: Readonly<Record<string, (path: string) => void>> = {
  nothing: () => {},
  edited: (path) => writeFileSync(path, 'another text'),
  touched: (path) => utimesSync(path, 1, 2),
  'edited and dated back': (path) => {
    const { atime, mtime } = lstatSync(path);
    writeFileSync(path, 'other');
    utimesSync(path, atime, mtime);
  },
  removed: (path) => rmSync(path),
  replaced: (path) => {
    writeFileSync(`${path}.new`, readFileSync(path));
    renameSync(`${path}.new`, path);
  },
};

test('whatever a stage has done, each file has the time again that it had, to the microsecond', async () => {
  // Seconds: long ago, with fractions, and to come.
  const times = fc.constantFrom(0, 1, 1e9 + 0.123456, 1.7e9 + 0.987654, 4e9);
  const files = fc.array(fc.record({ time: times, deed: fc.constantFrom(...Object.keys(deeds)) }), {
    minLength: 1,
    maxLength: 6,
  });
  await fc.assert(
    fc.asyncProperty(files, async (wanted) => {
      const names = wanted.map((_, n) => `d${n % 2}/f${n}`);
      await using it = await rig(Object.fromEntries(names.map((name) => [name, name])));
      for (const [n, { time }] of wanted.entries())
        utimesSync(it.at(names[n] ?? ''), new Date(0), new Date(time * 1000));
      const before = timesIn(it.ws, names);
      const { id } = await it.snapshots.take(it.before);
      for (const [n, { deed }] of wanted.entries()) deeds[deed]?.(it.at(names[n] ?? ''));
      const resumed = await again(it);
      await resumed.restore(await resumed.load(id));
      for (const [n, time] of timesIn(it.ws, names).entries())
        expect(Math.abs(time - (before[n] ?? 0)), `${names[n]} ${wanted[n]?.deed}`).toBeLessThan(0.01);
    }),
    { numRuns: 30 },
  );
});

test.runIf(isRoot)('a file of another user keeps its time and does not stop a restore', async () => {
  await using it = await rig({ a: 'a', ours: 'ours' });
  const names = ['a', 'ours'];
  for (const name of names) utimesSync(it.at(name), 1, 1000);
  const { id } = await it.snapshots.take(it.before);
  await asHeldByModes(it.path, async () => {
    const us = process.geteuid?.() ?? 0;
    process.seteuid?.(0);
    chownSync(it.at('a'), 0, 0);
    for (const name of names) utimesSync(it.at(name), 1, 3000);
    process.seteuid?.(us);
    const resumed = await again(it);
    await resumed.restore(await resumed.load(id));
  });
  expect(timesIn(it.ws, names)).toEqual([3_000_000, 1_000_000]);
});

test('a checkout has the times of the workspace', async () => {
  await using it = await rig({ a: 'a', 'd/b': 'b' });
  utimesSync(it.at('a'), 1, 2000);
  utimesSync(it.at('d/b'), 1, 1000);
  const { id } = await it.snapshots.take(it.before);
  const out = join(it.path, 'out');
  await (await again(it)).checkout(id, out);
  expect(timesIn(out, ['a', 'd/b'])).toEqual([2_000_000, 1_000_000]);
});

test('what is put back counts as written now, so that what was made of it is out of date', async () => {
  await using it = await rig({ 'out/one': 'a', other: 'b' });
  for (const name of ['out/one', 'other']) utimesSync(it.at(name), 1, 1000);
  const before = await it.snapshots.take(it.before);
  writeFileSync(it.at('out/one'), 'out of scope');
  await it.snapshots.take(before);
  const now = Date.now();
  await putBack(it.snapshots, before, ['out/one'], (path) => path !== 'out/one');
  const [one = 0, other] = timesIn(it.ws, ['out/one', 'other']);
  expect([readFileSync(it.at('out/one'), 'utf8'), other]).toEqual(['a', 1_000_000]);
  expect(one).toBeGreaterThan(now - 1000);
});

test.each([
  ['a link', (outside: string, place: string) => symlinkSync(outside, place)],
  ['another name', (outside: string, place: string) => linkSync(outside, place)],
])(
  '%s of a file outside that comes into a file’s place meanwhile changes neither time nor mode there',
  async (_, puts) => {
    await using it = await rig({ a: 'a' });
    const outside = join(it.path, 'outside/precious');
    utimesSync(outside, 1, 2000);
    chmodSync(outside, 0o600);
    utimesSync(it.at('a'), 1, 1000);
    const then = await it.snapshots.take(it.before);
    utimesSync(it.at('a'), 1, 3000);
    chmodSync(it.at('a'), 0o640);
    let asked = 0;
    const open = fence(it.ws, () => {
      asked += 1;
      if (asked !== 2) return;
      rmSync(it.at('a'));
      puts(outside, it.at('a'));
    });
    await it.snapshots.restore(then);
    open();
    const [ours, theirs] = [lstatSync(it.at('a')), lstatSync(outside)];
    expect([ours.isFile(), ours.mode & 0o777, ours.mtimeMs]).toEqual([true, 0o644, 1_000_000]);
    expect([theirs.mode & 0o777, theirs.mtimeMs]).toEqual([0o600, 2_000_000]);
  },
);

test('a restored file differs from the replaced one by its second too, where both have one size', async () => {
  await using it = await rig({ source: 'X=1' });
  utimesSync(it.at('source'), 1, 1000);
  const before = await it.snapshots.take(it.before);
  writeFileSync(it.at('source'), 'X=2');
  const [stood = 0] = timesIn(it.ws, ['source']);
  writeFileSync(it.at('source.pyc'), `X=2, of size 3 and second ${Math.floor(stood / 1000)}`);
  await it.snapshots.take(before);
  await putBack(it.snapshots, before, ['source'], (path) => path !== 'source');
  const [time = 0] = timesIn(it.ws, ['source']);
  expect(readFileSync(it.at('source'), 'utf8')).toBe('X=1');
  expect(Math.floor(time / 1000)).toBeGreaterThan(Math.floor(stood / 1000));
});
