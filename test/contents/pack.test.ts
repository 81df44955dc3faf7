/** The form of a pack, as a table: what is written is read, what is torn is not there, what is damaged is noticed. */
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { decodeItem, deflate, encodeItem, isTornItem, itemKinds, itemsIn } from '../../src/contents/pack.ts';
import { sha256 } from '../../src/core/sha256.ts';
import { tempFolder } from '../workspace/folders.ts';

const itemOf = (bytes: Buffer, kind: (typeof itemKinds)[number] = 'bytes') =>
  encodeItem(kind, sha256(bytes), bytes, deflate(bytes));

test.for([
  ['nothing', Buffer.alloc(0), 56],
  ['a few bytes', Buffer.from('abc'), 59],
  ['text', Buffer.from('the same words '.repeat(1000)), 400],
  ['zeros', Buffer.alloc(1024 * 1024), 6000],
  ['random bytes', randomBytes(5000), 5056],
  ['random bytes of less than a sample', randomBytes(300), 356],
] as const)('%s comes back from an item of the expected size', ([, bytes, most]) => {
  const item = itemOf(bytes);
  expect(decodeItem(item)?.equals(bytes)).toBe(true);
  expect(item.length).toBeLessThanOrEqual(most);
});

test('an item with one other bit is never read', () => {
  for (const bytes of [Buffer.from('x'.repeat(200)), randomBytes(100)]) {
    const item = itemOf(bytes);
    for (let at = 0; at < item.length; at++) {
      const bad = Buffer.from(item);
      bad.writeUInt8(bad.readUInt8(at) ^ (1 << (at % 8)), at);
      expect(decodeItem(bad), `${at}`).toBeUndefined();
    }
  }
});

test('wherever a pack ends, the items that are whole are found and the rest is a torn item', async () => {
  await using it = tempFolder();
  const items = itemKinds.map((kind) => itemOf(Buffer.from(`${kind} `.repeat(30)), kind));
  const whole = Buffer.concat(items);
  const path = join(it.path, 'pack');
  for (let size = 0; size <= whole.length; size++) {
    writeFileSync(path, whole.subarray(0, size));
    const file = openSync(path, 'r');
    const found = [...itemsIn(file, 0)];
    const ends = items.map((_, n) => Buffer.concat(items.slice(0, n + 1)).length);
    expect(found.map(({ kind }) => kind)).toEqual(
      itemKinds.slice(0, ends.filter((end) => end <= size).length),
    );
    expect(isTornItem(file, found.at(-1)?.end ?? 0)).toBe(true);
    closeSync(file);
  }
});

test('many items are found in order, also from the middle, and other bytes at the end are not taken for a torn item', async () => {
  await using it = tempFolder();
  const contents = Array.from({ length: 3000 }, (_, n) => Buffer.from(`content ${n} `.repeat(n % 9)));
  const path = join(it.path, 'pack');
  writeFileSync(path, Buffer.concat([...contents.map((bytes) => itemOf(bytes)), Buffer.alloc(100)]));
  const file = openSync(path, 'r');
  const all = [...itemsIn(file, 0)];
  expect(all.map(({ key }) => key)).toEqual(contents.map((bytes) => sha256(bytes)));
  expect([...itemsIn(file, all[2000]?.end ?? 0)]).toEqual(all.slice(2001));
  expect(isTornItem(file, all.at(-1)?.end ?? 0)).toBe(false);
  closeSync(file);
});
