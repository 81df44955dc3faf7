/** When files were last written, which build tools go by: a restore gives the times back. */
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
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
import { fence } from '../../src/system/fence.ts';
import { setTime } from '../../src/workspace/facts.ts';
import { inspectStore } from '../../src/workspace/inspect.ts';
import { putBack } from '../../src/workspace/put-back.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { asHeldByModes, inodeOf, isRoot } from './folders.ts';
import { rig } from './rig.ts';

/** As another process would find it. */
const again = (it: Awaited<ReturnType<typeof rig>>, ws = it.ws) =>
  openSnapshots({ workspace: ws, dir: join(it.path, 'snaps') });

const timesIn = (ws: string, names: readonly string[]): readonly number[] =>
  names.map((name) => lstatSync(join(ws, name)).mtimeMs);

/** Some Nodes keep less than a microsecond of a time that they set, others do not. */
const inMicroseconds = (ms: number): number => Math.round(ms * 1e3);

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
  // Seconds: long ago, before 1970, with fractions, and to come.
  const times = fc.constantFrom(0, 1, -1.5, 1e9 + 0.123456, 1.7e9 + 0.987654, 4e9);
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
        expect(Math.abs(time - (before[n] ?? 0)), `${names[n]} ${wanted[n]?.deed}`).toBeLessThan(0.001);
    }),
    { numRuns: 30 },
  );
});

test('a file that was written right before the snapshot has its time again', async () => {
  await using it = await rig({ a: 'a' });
  writeFileSync(it.at('a'), 'new');
  const [time = 0] = timesIn(it.ws, ['a']);
  const { id } = await it.snapshots.take(it.before);
  writeFileSync(it.at('a'), 'more');
  utimesSync(it.at('a'), 1, 2);
  const resumed = await again(it);
  await resumed.restore(await resumed.load(id));
  expect(timesIn(it.ws, ['a'])[0]).toBeCloseTo(time, 2);
});

test('what a stage has only touched counts as touched after a resume', async () => {
  await using it = await rig({ stamp: '', source: 's' });
  utimesSync(it.at('stamp'), 1, 1000);
  const first = await it.snapshots.take(it.before);
  utimesSync(it.at('stamp'), 1, 1000.5);
  const touched = await it.snapshots.take(first);
  expect(touched.id).toBe(first.id);
  const time = timesIn(it.ws, ['stamp']);
  writeFileSync(it.at('stamp'), 'cut short');
  const resumed = await again(it);
  await resumed.restore(await resumed.load(touched.id));
  expect(timesIn(it.ws, ['stamp']).map(inMicroseconds)).toEqual(time.map(inMicroseconds));
});

test.for([0.000001, 1000.001, 1_700_000_000.123457, 1_795_445_492.999999, 2_100_000_000.000001])(
  'the time %f is the same to the microsecond after any number of restores',
  async (seconds) => {
    await using it = await rig({ a: 'a' });
    const place = it.at('a');
    for (let restored = 0; restored < 20; restored++) {
      setTime(place, restored === 0 ? seconds * 1e3 : lstatSync(place).mtimeMs);
      const { mtimeNs } = lstatSync(place, { bigint: true });
      const beyond = mtimeNs - BigInt(Math.round(seconds * 1e6)) * 1000n;
      expect([beyond >= 0n, beyond < 500n]).toEqual([true, true]);
    }
  },
);

test('a restored time is never after the one that the file had, which ninja has noted to the nanosecond', async () => {
  await using it = await rig({ a: 'a' });
  // What a number of milliseconds can tell of a time is within a quarter of a microsecond.
  for (const part of [0.3, 0.5, 0.6, 0.7, 0.9, 0.95, 1]) {
    const ms = 1_700_000_000_123.456 + part / 1e3;
    setTime(it.at('a'), ms, ms);
    const { mtimeNs } = lstatSync(it.at('a'), { bigint: true });
    expect(mtimeNs, String(part)).toBeGreaterThanOrEqual(1_700_000_000_123_456_000n);
    expect(mtimeNs, String(part)).toBeLessThan(1_700_000_000_123_456_250n);
  }
});

test('a tree of which only more is known than before is not written anew', async () => {
  await using it = await rig({ a: 'a' });
  writeFileSync(it.at('a'), 'new');
  let now = await it.snapshots.take(it.before);
  const written = join(it.path, 'snaps/trees', `${now.id}.json`);
  const { ino } = lstatSync(written);
  do now = await it.snapshots.take(now);
  while (now.tree.get('a')?.ctimeMs === undefined);
  expect(lstatSync(written).ino).toBe(ino);
});

test('a touched file that nobody need read to know it has its time again, and one of another mode its mode', async () => {
  await using it = await rig({ a: 'a', b: 'b' });
  utimesSync(it.at('a'), 1, 1000);
  const then = await it.snapshots.take(it.before);
  utimesSync(it.at('a'), 1, 2000);
  chmodSync(it.at('b'), 0o600);
  let now = then;
  do now = await it.snapshots.take(now);
  while ([...now.tree.values()].some(({ ctimeMs }) => ctimeMs === undefined));
  await it.snapshots.restore(then);
  expect(timesIn(it.ws, ['a'])).toEqual([1_000_000]);
  expect(lstatSync(it.at('b')).mode & 0o777).toBe(0o644);
});

test('a folder has the time again that it had, closed ones and empty ones too', async () => {
  await using it = await rig({
    'modules/one/x': 'x',
    'modules/none': {},
    'shut/in/x': 'x',
    'still/x': 'x',
    rules: 'r',
  });
  const folders = ['modules', 'modules/one', 'modules/none', 'shut', 'shut/in', 'still'];
  for (const [n, name] of folders.entries()) utimesSync(it.at(name), 1, 1000 + n);
  for (const name of ['shut', 'still']) chmodSync(it.at(name), 0o500);
  writeFileSync(it.at('rules'), 'changed');
  const { id } = await it.snapshots.take(it.before);
  utimesSync(it.at('still'), 1, 2000);
  chmodSync(it.at('shut'), 0o700);
  writeFileSync(it.at('modules/one/y'), 'new');
  rmSync(it.at('modules/none'), { recursive: true });
  rmSync(it.at('shut'), { recursive: true });
  const resumed = await again(it);
  await resumed.restore(await resumed.load(id));
  expect(timesIn(it.ws, folders)).toEqual(folders.map((_, n) => (1000 + n) * 1000));
  for (const name of ['shut', 'still']) expect(lstatSync(it.at(name)).mode & 0o777).toBe(0o500);
});

test.runIf(isRoot)(
  'a file and a folder of somebody else keep the time that they have, and do not stop a restore',
  async () => {
    await using it = await rig({ 'theirs/x': 'x', theirs: { mode: 0o777 }, a: 'a', ours: 'ours' });
    const names = ['theirs', 'a', 'ours'];
    for (const name of names) utimesSync(it.at(name), 1, 1000);
    const { id } = await it.snapshots.take(it.before);
    await asHeldByModes(it.path, async () => {
      const us = process.geteuid?.() ?? 0;
      process.seteuid?.(0);
      for (const name of ['theirs', 'a']) chownSync(it.at(name), 0, 0);
      for (const name of names) utimesSync(it.at(name), 1, 3000);
      process.seteuid?.(us);
      const resumed = await again(it);
      await resumed.restore(await resumed.load(id));
    });
    expect(timesIn(it.ws, names)).toEqual([3_000_000, 3_000_000, 1_000_000]);
  },
);

test('who is killed before the next checkpoint goes on from the times of the last one', async () => {
  await using it = await rig({ stamp: '', source: 's' });
  const touch = (ms: number) => utimesSync(it.at('stamp'), 1, ms / 1000);
  touch(1000);
  const { id } = await it.snapshots.take(it.before);
  const whenResumed = async (steps: number): Promise<number | undefined> => {
    const resumed = await again(it);
    await resumed.restore(await resumed.load(id, steps));
    return timesIn(it.ws, ['stamp'])[0];
  };
  let engine = await again(it);
  let last = await engine.load(id, 1);
  // Two attempts of one stage, of which the kill finds no checkpoint.
  engine.goOnFrom(1);
  for (const time of [2000, 3000]) {
    touch(time);
    last = await engine.take(last);
    expect(last.id).toBe(id);
  }
  expect(await whenResumed(1)).toBe(1000);

  engine = await again(it);
  last = await engine.load(id, 1);
  engine.goOnFrom(1);
  touch(4000);
  last = await engine.take(last);
  expect((await inspectStore(join(it.path, 'snaps'))).problems).toEqual([]);
  expect(await whenResumed(2)).toBe(4000);
  engine.goOnFrom(2);
  expect(readdirSync(join(it.path, 'snaps/trees')).filter((name) => name.startsWith(id))).toEqual([
    `${id}.json`,
  ]);
});

test('a checkout has the times of the workspace', async () => {
  await using it = await rig({ a: 'a', 'd/b': 'b' });
  utimesSync(it.at('a'), 1, 2000);
  utimesSync(it.at('d/b'), 1, 1000);
  utimesSync(it.at('d'), 1, 3000);
  const { id } = await it.snapshots.take(it.before);
  const out = join(it.path, 'out');
  await (await again(it)).checkout(id, out);
  expect(timesIn(out, ['a', 'd/b', 'd'])).toEqual([2_000_000, 1_000_000, 3_000_000]);
});

test('the time of a file that has a name elsewhere is not touched', async () => {
  await using it = await rig({ a: 'a', b: 'b' });
  utimesSync(it.at('a'), 1, 1000);
  const then = await it.snapshots.take(it.before);
  const outside = join(it.path, 'outside/precious');
  writeFileSync(outside, 'a');
  utimesSync(outside, 1, 2000);
  rmSync(it.at('a'));
  linkSync(outside, it.at('a'));
  const resumed = await again(it);
  await resumed.restore(await resumed.load(then.id));
  expect(timesIn(it.path, ['outside/precious'])).toEqual([2_000_000]);
});

/** Seconds at which a stage writes, one after another; what was there is from the beginning. */
const [begins, early, late] = [1000, 2000, 3000];

test.for([
  // The source was broken first, and the product that stays was made of it.
  { name: 'a source is newer than what a stage has made of it', bad: early, kept: late, isNewer: true },
  // The source that stays was written first, and the product was made of it: it is stale again.
  { name: 'a product is as old again as it was', bad: late, kept: early, isNewer: false },
  {
    name: 'a product that was removed last is as old again as it was',
    bad: undefined,
    kept: early,
    isNewer: false,
  },
  { name: 'a source that was removed first is newer', bad: undefined, kept: late, isNewer: true },
])('of what is put back beside work that stays, $name', async ({ bad, kept, isNewer }) => {
  await using it = await rig({ 'out/one': 'a', other: 'b', stays: 'c' });
  for (const name of ['out/one', 'out', 'other', 'stays']) utimesSync(it.at(name), 1, begins);
  writeFileSync(it.at('stays'), 'of another stage');
  utimesSync(it.at('stays'), 1, begins);
  const before = await it.snapshots.take(it.before);
  if (bad === undefined) {
    rmSync(it.at('out/one'));
    utimesSync(it.at('out'), 1, kept === early ? late : early);
  } else {
    writeFileSync(it.at('out/one'), 'out of scope');
    utimesSync(it.at('out/one'), 1, bad);
  }
  writeFileSync(it.at('stays'), 'in scope');
  utimesSync(it.at('stays'), 1, kept);
  const after = await it.snapshots.take(before);
  const now = Date.now();
  await putBack(it.snapshots, { before, after }, ['out/one'], (path) => path !== 'out/one');
  expect(readFileSync(it.at('out/one'), 'utf8')).toBe('a');
  const [one = 0, ...rest] = timesIn(it.ws, ['out/one', 'other', 'stays']);
  expect(rest).toEqual([begins * 1000, kept * 1000]);
  if (isNewer) expect(one).toBeGreaterThan(now - 1000);
  else expect(one).toBe(begins * 1000);
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

test('folders have no other time where somebody puts a link in the place of one above them meanwhile', async () => {
  const size = 3_000_000;
  await using it = await rig({ 'd/a': 'a'.repeat(size), 'd/e': {} });
  const outside = join(it.path, 'outside/e');
  mkdirSync(outside);
  utimesSync(outside, 1, 2000);
  writeFileSync(it.at('d/a'), 'changed');
  utimesSync(it.at('d/e'), 1, 3000);
  const open = fence(it.ws, () => {
    if (lstatSync(it.at('d/a')).size < size) return;
    open();
    renameSync(it.at('d'), it.at('moved'));
    symlinkSync('../outside', it.at('d'));
  });
  await expect(it.snapshots.restore(it.before)).rejects.toThrow('stopped being a folder');
  expect(timesIn(it.path, ['outside/e'])).toEqual([2_000_000]);
});

test('a file of several names that a stage has touched has its time again, where all of them are in the workspace', async () => {
  await using it = await rig({ a: 'a', c: 'c', z: 'z' });
  linkSync(it.at('a'), it.at('b'));
  linkSync(it.at('c'), it.at('d'));
  linkSync(it.at('z'), join(it.path, 'outside/z'));
  for (const name of ['a', 'c', 'z']) utimesSync(it.at(name), 1, 1000);
  const { id } = await it.snapshots.take(it.before);
  rmSync(it.at('d'));
  for (const name of ['a', 'c', 'z']) utimesSync(it.at(name), 1, 2000);
  const resumed = await again(it);
  await resumed.restore(await resumed.load(id));
  expect(timesIn(it.ws, ['a', 'b', 'c', 'd'])).toEqual(Array(4).fill(1_000_000));
  for (const [one, other] of ['ab', 'cd'])
    expect(inodeOf(it.ws, one ?? '')).toBe(inodeOf(it.ws, other ?? ''));
  expect(timesIn(it.path, ['ws/z', 'outside/z'])).toEqual([2_000_000, 2_000_000]);
});

test('what is put back is told from what stood there by its second too, where both have one size', async () => {
  await using it = await rig({ source: 'X=1' });
  utimesSync(it.at('source'), 1, 1000);
  const before = await it.snapshots.take(it.before);
  writeFileSync(it.at('source'), 'X=2');
  const [stood = 0] = timesIn(it.ws, ['source']);
  writeFileSync(it.at('source.pyc'), `X=2, of size 3 and second ${Math.floor(stood / 1000)}`);
  const after = await it.snapshots.take(before);
  await putBack(it.snapshots, { before, after }, ['source'], (path) => path !== 'source');
  const [time = 0] = timesIn(it.ws, ['source']);
  expect(readFileSync(it.at('source'), 'utf8')).toBe('X=1');
  expect(Math.floor(time / 1000)).toBeGreaterThan(Math.floor(stood / 1000));
});

test('what a stage only wrote again out of its scope has its time again, and makes nothing else newer', async () => {
  const products = ['inputs', 'product', 'stamp'];
  await using it = await rig({ inputs: 'of 1', product: 'of 1', stamp: 'same', mine: 'same', source: '1' });
  for (const name of products) utimesSync(it.at(name), 1, 1000);
  utimesSync(it.at('mine'), 1, 500);
  writeFileSync(it.at('source'), '2');
  utimesSync(it.at('source'), 1, 2000);
  const before = await it.snapshots.take(it.before);
  // As cargo does: what a build has read gets the time of its beginning.
  for (const [name, text, time] of [
    ['inputs', 'of 2', 3000],
    ['product', 'of 2', 3001],
    ['stamp', 'same', 3002],
    ['mine', 'same', 600],
  ] as const) {
    writeFileSync(it.at(name), text);
    utimesSync(it.at(name), 1, time);
  }
  const after = await it.snapshots.take(before);
  await putBack(it.snapshots, { before, after }, ['inputs', 'product'], (path) => path === 'mine');
  expect(timesIn(it.ws, [...products, 'mine', 'source'])).toEqual([1e6, 1e6, 1e6, 6e5, 2e6]);
});

test('a time that lies just below a microsecond is given back as no later one', async () => {
  await using it = await rig({ f: '' });
  // As Node tells of a file of …723957 ns.
  const ms = 1_795_463_620_621.7239;
  setTime(it.at('f'), ms, ms);
  const given = lstatSync(it.at('f'), { bigint: true }).mtimeNs;
  expect(1_795_463_620_621_723_957n - given).toBeGreaterThanOrEqual(0n);
  expect(1_795_463_620_621_723_957n - given).toBeLessThan(2000n);
});
