/** The store under damage and under several writers: right or refused, never wrong. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs, {
  chmodSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ContentStore } from '../../src/contents/store.ts';
import { diskError } from '../../src/platform/files/disk-error.ts';
import { fence, Superseded } from '../../src/platform/files/fence.ts';
import { DamagedStore, StoreTrouble, WorkspaceError } from '../../src/platform/files/workspace-error.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { asHeldByModes, make, picture, tempFolder, type Wanted } from './folders.ts';

async function rig(wanted: Wanted) {
  const it = tempFolder();
  const ws = join(it.path, 'ws');
  const dir = join(it.path, 'snaps');
  mkdirSync(ws);
  make(ws, wanted);
  const reopen = () => openSnapshots({ workspace: ws, dir });
  return { ...it, ws, dir, reopen, snapshots: await reopen() };
}

test('several openings that write at the same time never spoil each other', async () => {
  await using it = await rig({});
  const writers = await Promise.all(
    Array.from({ length: 4 }, async (_, n) => {
      const ws = join(it.path, `ws${n}`);
      make(ws, { shared: 'shared', own: `content of ${n}`, big: 'x'.repeat(1_100_000 + n) });
      return { ws, n, snapshots: await openSnapshots({ workspace: ws, dir: it.dir }) };
    }),
  );
  const taken = await Promise.all(
    writers.map(async ({ ws, n, snapshots }) => {
      const first = await snapshots.take();
      writeFileSync(join(ws, 'own'), `later content of ${n}`);
      return [first, await snapshots.take(first)] as const;
    }),
  );
  const reader = await it.reopen();
  for (const [n, [first, second]] of taken.entries()) {
    for (const [id, text] of [
      [first.id, `content of ${n}`],
      [second.id, `later content of ${n}`],
    ] as const) {
      await reader.restore(await reader.load(id));
      expect(readFileSync(join(it.ws, 'own'), 'utf8')).toBe(text);
      expect(statSync(join(it.ws, 'big')).size).toBe(1_100_000 + n);
    }
  }
});

test('of takes that overlap each has the contents that it has seen', async () => {
  await using it = await rig({ a: 'first', b: 'b' });
  let asked = 0;
  let second: ReturnType<typeof it.snapshots.take> | undefined;
  const first = await it.snapshots.take(undefined, () => {
    if (++asked < 2) return;
    writeFileSync(join(it.ws, 'a'), 'other');
    second ??= it.snapshots.take();
  });
  const then = await second;
  const reader = await it.reopen();
  for (const [taken, text] of [
    [first, 'first'],
    [then, 'other'],
  ] as const) {
    const { tree } = await reader.load(taken?.id ?? '');
    expect((await reader.read(tree.get('a')?.hash ?? '')).toString()).toBe(text);
    expect((await reader.read(tree.get('b')?.hash ?? '')).toString()).toBe('b');
  }
});

test.for([
  ['a pack that was cut', (pack: string) => truncateSync(pack, 3)],
  ['a pack that is missing', (pack: string) => rmSync(pack)],
  [
    'a pack in whose place a folder is',
    (pack: string) => {
      rmSync(pack);
      mkdirSync(pack);
    },
  ],
  [
    'a pack in whose place a link is',
    (pack: string) => {
      renameSync(pack, `${pack}.other`);
      symlinkSync('pack.other', pack);
    },
  ],
] as const)('%s is reported before anything is restored', async ([, damage]) => {
  await using it = await rig({ a: 'first', b: 'other', big: 'big'.repeat(400_000) });
  const { id } = await it.snapshots.take();
  damage(join(it.dir, 'pack'));
  writeFileSync(join(it.ws, 'a'), 'now');
  const was = picture(it.ws);
  const error = await (await it.reopen()).load(id).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(DamagedStore);
  expect(String(error)).toContain(`there is no snapshot ${id} in ${it.dir}`);
  expect(picture(it.ws)).toEqual(was);
});

test('whatever byte of the store is another, a snapshot comes back exactly or is refused', async () => {
  await using it = await rig({
    a: 'first content',
    'd/b': { text: 'second', mode: 0o755 },
    'd/void': {},
    link: { link: 'd/b' },
    big: 'b'.repeat(1_048_600),
  });
  const { id } = await it.snapshots.take();
  const was = picture(it.ws);
  const file = join(it.dir, 'pack');
  const good = readFileSync(file);
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(fc.nat(good.length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
      const bad = Buffer.from(good);
      bad.writeUInt8(bad.readUInt8(at) ^ flip, at);
      writeFileSync(file, bad);
      rmSync(it.ws, { recursive: true, force: true });
      try {
        const reader = await it.reopen();
        await reader.restore(await reader.load(id));
        expect(picture(it.ws)).toEqual(was);
      } catch (error) {
        if (!(error instanceof WorkspaceError)) throw error;
        refused++;
      }
    }),
    { numRuns: 60 },
  );
  expect(refused).toBeGreaterThan(0);
});

test('holes of a large file take no room in the store, and come back as holes', async () => {
  await using it = await rig({});
  const size = 24 * 1024 * 1024 + 5;
  const file = openSync(join(it.ws, 'sparse'), 'w');
  writeSync(file, 'begin', 0);
  writeSync(file, 'middle', 20_000_000);
  ftruncateSync(file, size);
  closeSync(file);
  const was = picture(it.ws);
  const taken = await it.snapshots.take();
  expect(statSync(join(it.dir, 'pack')).size).toBeLessThan(32 * 1024);
  rmSync(join(it.ws, 'sparse'));
  await it.snapshots.restore(taken);
  expect(picture(it.ws)).toEqual(was);
  expect(statSync(join(it.ws, 'sparse')).blocks * 512).toBeLessThan(1024 * 1024);
});

test('a content goes into the store once, however many files have it and however often it comes back', async () => {
  const [one, other] = [randomBytes(50_000), randomBytes(50_000)];
  await using it = await rig({ 'd/x': '' });
  for (const name of ['a', 'b', 'd/c']) writeFileSync(join(it.ws, name), one);
  let last = await it.snapshots.take();
  for (const bytes of [other, one, other, one]) {
    writeFileSync(join(it.ws, 'a'), bytes);
    last = await it.snapshots.take(last);
  }
  expect(statSync(join(it.dir, 'pack')).size).toBeLessThan(103_000);
});

test('a disk that takes no more contents is reported with the file of the store', async () => {
  await using it = await rig({ a: 'a', b: 'x'.repeat(1_100_000) });
  // Until the facts of the files vouch for them.
  await setTimeout(100);
  const { writeSync } = fs;
  fs.writeSync = () => {
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  };
  syncBuiltinESMExports();
  try {
    const error = await it.snapshots.take().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreTrouble);
    expect(diskError(error)).toMatchObject({ code: 'ENOSPC', path: join(it.dir, 'pack') });
  } finally {
    fs.writeSync = writeSync;
    syncBuiltinESMExports();
  }
  // With space again, what did not arrive is kept: that it was read counts for nothing.
  const { id, tree } = await it.snapshots.take();
  const reader = await it.reopen();
  await reader.load(id);
  expect((await reader.read(tree.get('a')?.hash ?? '')).toString()).toBe('a');
});

test('a snapshot that may not be read is not called damaged', async () => {
  await using it = await rig({ a: 'a' });
  const { id } = await it.snapshots.take();
  chmodSync(join(it.dir, 'pack'), 0);
  await asHeldByModes(it.path, async () => {
    const error = await (await it.reopen()).load(id).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'EACCES' });
  });
});

test('what a process writes through a mapping of a file is found', async (context) => {
  await using it = await rig({ a: 'x'.repeat(10_000) });
  const script = 'import mmap,sys\nf=open(sys.argv[1],"r+b");m=mmap.mmap(f.fileno(),0);m[5000:5005]=b"EDITS"';
  const before = await it.snapshots.take(await it.snapshots.take());
  try {
    execFileSync('python3', ['-c', script, join(it.ws, 'a')]);
  } catch {
    context.skip('python3 is not there');
  }
  expect((await it.snapshots.take(before)).id).not.toBe(before.id);
});

test.for([
  { when: 'before the first content', begun: false },
  { when: 'when contents are on their way', begun: true },
])('a process that lost the run $when writes none into the store', async ({ begun }) => {
  await using it = await rig({});
  const store = new ContentStore(it.dir);
  let lost = false;
  const open = fence(it.dir, () => {
    if (lost) throw new Superseded('taken');
  });
  const batch = store.begin();
  try {
    if (begun) batch.addBytes(Buffer.from('one'));
    const before = picture(it.dir);
    lost = true;
    await expect(async () => {
      batch.addBytes(Buffer.from('two'));
      await batch.commit();
    }).rejects.toThrow(Superseded);
    expect(picture(it.dir)).toEqual(before);
  } finally {
    await batch.end();
    open();
  }
});

test('of two large files of one size each has its own content', async () => {
  await using it = await rig({ a: 'a'.repeat(1_100_000) });
  const before = await it.snapshots.take();
  make(it.ws, { b: 'b'.repeat(1_100_000) });
  const was = picture(it.ws);
  const both = await it.snapshots.take(before);
  rmSync(join(it.ws, 'a'));
  rmSync(join(it.ws, 'b'));
  await it.snapshots.restore(both);
  expect(picture(it.ws)).toEqual(was);
});

test('contents that exactly fill one write come back', async () => {
  const sizes = [1024 * 1024, 1024 * 1024 - 3, 5, 1024 * 1024, 1024 * 1024 - 2, 2, 1];
  await using it = await rig(
    Object.fromEntries(sizes.map((size, n) => [`f${n}`, String.fromCharCode(97 + n).repeat(size)])),
  );
  const was = picture(it.ws);
  const taken = await it.snapshots.take();
  for (const n of sizes.keys()) rmSync(join(it.ws, `f${n}`));
  await it.snapshots.restore(taken);
  expect(picture(it.ws)).toEqual(was);
});

test('a take that is ended in a large file because the run was taken over has written nothing', async () => {
  await using it = await rig({ a: 'a'.repeat(1_100_000) });
  let pieces = 0;
  const open = fence(it.dir, () => {
    if (pieces > 1) throw new Superseded();
  });
  const goOn = () => {
    pieces += 1;
  };
  try {
    await expect(it.snapshots.take(undefined, goOn)).rejects.toThrow(Superseded);
  } finally {
    open();
  }
  expect(readdirSync(it.dir)).toEqual([]);
});

test('of two items of one snapshot, of which the later never reached the disk, the earlier is read', async () => {
  await using it = await rig({ a: 'a', b: randomBytes(200_000).toString('hex') });
  const { id } = await it.snapshots.take();
  const pack = join(it.dir, 'pack');
  const { size } = statSync(pack);
  await (await it.reopen()).take();
  const bytes = readFileSync(pack);
  expect(bytes.length).toBeGreaterThan(2 * size - 100);
  for (const gone of [bytes.subarray(-2000), bytes.subarray(size + 3000)]) {
    gone.fill(0);
    writeFileSync(pack, bytes);
    const reader = await it.reopen();
    const { tree } = await reader.load(id);
    expect(String(await reader.read(tree.get('a')?.hash ?? ''))).toBe('a');
  }
});
