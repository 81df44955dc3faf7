/** The content store from outside: what was committed is read by every process; what was not, or is damaged, by none. */
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ContentStore } from '../../src/contents/store.ts';
import { sha256 } from '../../src/core/sha256.ts';
import { DamagedStore } from '../../src/platform/files/workspace-error.ts';
import { tempFolder } from '../workspace/folders.ts';

function rig() {
  const it = tempFolder();
  const dir = join(it.path, 'contents');
  mkdirSync(dir);
  return { ...it, dir, open: () => reader(dir) };
}

function reader(dir: string): ContentStore {
  const store = new ContentStore(dir);
  store.refresh();
  return store;
}

async function add(store: ContentStore, ...contents: readonly Buffer[]): Promise<void> {
  const batch = store.begin();
  for (const bytes of contents) batch.addBytes(bytes);
  await batch.commit();
  await batch.end();
}

const textsOf = (count: number, size: number, name = 'text'): readonly Buffer[] =>
  Array.from({ length: count }, (_, n) => Buffer.from(`${name} ${n} `.padEnd(size, 'ab')));

test('contents of every size come back, from the store that wrote them and from another', async () => {
  await using it = rig();
  const contents = [
    ...[0, 1, 63, 64, 4096, 32 * 1024, 32 * 1024 + 1, 300_000, 1024 * 1024].flatMap((size) => [
      randomBytes(size),
      Buffer.alloc(size, 'word '),
    ]),
    ...textsOf(200, 40_000),
  ];
  const store = new ContentStore(it.dir);
  await add(store, ...contents);
  for (const at of [store, it.open()])
    for (const bytes of contents) expect(at.read(sha256(bytes)).equals(bytes)).toBe(true);
});

test('a content of more than a mebibyte is stored in pieces, and equal pieces once', async () => {
  await using it = rig();
  const piece = randomBytes(1024 * 1024);
  const whole = Buffer.concat([piece, piece, Buffer.from('end')]);
  const path = join(it.path, 'file');
  writeFileSync(path, whole);
  const batch = new ContentStore(it.dir).begin();
  expect(await batch.addFile(path)).toEqual({ hash: sha256(whole), size: whole.length });
  await batch.commit();
  await batch.end();
  const store = it.open();
  expect(store.read(sha256(whole)).equals(whole)).toBe(true);
  expect(Buffer.concat([...store.pieces(sha256(whole))]).length).toBeGreaterThan(whole.length);
  await store.writeTo(sha256(whole), join(it.path, 'copy'), 0o640);
  expect(readFileSync(join(it.path, 'copy')).equals(whole)).toBe(true);
  expect(statSync(join(it.path, 'copy')).mode & 0o777).toBe(0o640);
  expect(statSync(join(it.dir, 'pack')).size).toBeLessThan(1.1 * piece.length);
});

test('a pack that was torn anywhere keeps its whole items, and the next process begins another pack', async () => {
  await using it = rig();
  const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = textsOf(2, 300);
  const store = new ContentStore(it.dir);
  await add(store, first);
  const { size } = statSync(join(it.dir, 'pack'));
  await add(store, second);
  for (let end = statSync(join(it.dir, 'pack')).size - 1; end > size; end -= 7) {
    truncateSync(join(it.dir, 'pack'), end);
    const next = it.open();
    expect(next.read(sha256(first)).equals(first)).toBe(true);
    expect(() => next.read(sha256(second))).toThrow(DamagedStore);
    expect(next.torn()).toEqual([{ path: join(it.dir, 'pack'), from: size }]);
    expect(next.problemOf('pack')).toBeUndefined();
  }
  await add(it.open(), second);
  expect(readdirSync(it.dir)).toEqual(['pack', 'pack-1']);
  expect(it.open().read(sha256(second)).equals(second)).toBe(true);
});

test('of two processes that write at the same time each finds its contents and those of the other', async () => {
  await using it = rig();
  const stores = [new ContentStore(it.dir), new ContentStore(it.dir)];
  const own = [textsOf(40, 30_000, 'one'), textsOf(40, 50_000, 'other')];
  const batches = stores.map((store) => store.begin());
  for (let n = 0; n < 40; n++)
    for (const [who, batch] of batches.entries()) batch.addBytes(own[who]?.[n] ?? Buffer.alloc(0));
  await Promise.all(batches.map((batch) => batch.commit()));
  await Promise.all(batches.map((batch) => batch.end()));
  for (const store of [...stores, it.open()]) {
    store.refresh();
    for (const bytes of own.flat()) expect(store.read(sha256(bytes)).equals(bytes)).toBe(true);
  }
});

test('a content of a batch that was never committed is written again by the next', async () => {
  await using it = rig();
  const bytes = randomBytes(400_000);
  const killed = new ContentStore(it.dir).begin();
  killed.addBytes(bytes);
  killed.addBytes(randomBytes(400_000));
  await killed.end();
  const store = it.open();
  expect(store.has(sha256(bytes))).toBe(false);
  const { size } = statSync(join(it.dir, 'pack'));
  await add(store, bytes);
  expect(statSync(join(it.dir, 'pack')).size).toBeGreaterThan(size + 400_000 - 1);
});

test('of two items of one content the earlier is read where the later is damaged', async () => {
  await using it = rig();
  const bytes = randomBytes(1000);
  await add(new ContentStore(it.dir), bytes);
  await add(new ContentStore(it.dir), bytes);
  const pack = join(it.dir, 'pack');
  const both = readFileSync(pack);
  both.writeUInt8(both.readUInt8(both.length - 1) ^ 1, both.length - 1);
  writeFileSync(pack, both);
  expect(it.open().read(sha256(bytes)).equals(bytes)).toBe(true);
  expect(it.open().problemOf('pack')).toMatch(/from byte 1056/);
});

test('a store that grows is read on from where it was read', async () => {
  await using it = rig();
  const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = textsOf(2, 100);
  const store = it.open();
  await add(new ContentStore(it.dir), first);
  store.refresh();
  expect(store.read(sha256(first)).equals(first)).toBe(true);
  await add(new ContentStore(it.dir), second);
  store.refresh();
  expect(store.read(sha256(second)).equals(second)).toBe(true);
  appendFileSync(join(it.dir, 'pack'), 'the beginning of an item');
  expect(store.torn()).toHaveLength(1);
});
