/** Trees as folders within folders, and the form of a folder in the store. */
import { expect, test } from 'vitest';
import { sha256 } from '../../src/core/sha256.ts';
import { DamagedStore } from '../../src/platform/files/workspace-error.ts';
import { readFolder, writeFolder } from '../../src/workspace/folder-record.ts';
import type { Entry } from '../../src/workspace/snapshot.ts';
import { Folder, FolderTree } from '../../src/workspace/tree.ts';

const hash = sha256('content');
const file = { kind: 'file', mode: 0o644, size: 1, hash } as const;
const facts = { mtimeMs: 1.25, ctimeMs: 2, ino: 7 };

const entries: readonly [string, Entry][] = Array.from({ length: 40 }, (_, n): [string, Entry][] => [
  [`d-${n}`, { kind: 'dir', mode: 0o755 }],
  [`d-${n}/x\n,`, { ...file, hash: sha256(`${n}`), ...facts }],
  [`d-${n}-`, { kind: 'link', mode: 0o777, target: `ü${n}` }],
]).flat();

test('a tree is a map of its paths, sorted by code unit', () => {
  const tree = FolderTree.from(entries);
  const sorted = [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
  expect([...tree]).toEqual(sorted);
  expect([...tree.keys()]).toEqual(sorted.map(([path]) => path));
  expect(tree.size).toBe(120);
  for (const [path, entry] of entries) expect(tree.get(path)).toEqual(entry);
  for (const path of ['', 'd', 'd-1/', 'd-1/y', 'd-1-/x', '/d-1']) expect(tree.has(path)).toBe(false);
});

/** What is read again of a folder that was written in the start of the system `boot`. */
function readAgain(items: Record<string, Entry>, boot = 'boot', now = boot): Folder {
  const { top } = FolderTree.from(Object.entries(items));
  return readFolder(
    writeFolder(top, boot, () => hash),
    now,
    0,
    () => {
      throw new Error('it has no folders');
    },
  );
}

test('a folder that was written is read back, with the mode and the key of each in it', () => {
  const { top } = FolderTree.from(entries);
  const asked: unknown[] = [];
  const read = readFolder(
    writeFolder(top, 'boot', ({ id }) => id),
    'boot',
    0,
    (key, name, mode) => {
      asked.push([key, mode]);
      const was = top.items.get(name);
      return was instanceof Folder ? was : new Folder(0, new Map());
    },
  );
  expect([read.id, [...read.items]]).toEqual([top.id, [...top.items]]);
  const third = top.items.get('d-3');
  expect(asked).toContainEqual([third instanceof Folder && third.id, 0o755]);
});

test('a file that was just written is not vouched for, nor is one in another start of the system', () => {
  const old = { ...file, ...facts };
  const young = { ...file, mtimeMs: 1.25 };
  expect([...readAgain({ old, young }).items]).toEqual(Object.entries({ old, young }));
  expect([...readAgain({ old, young }, 'boot', 'another').items.values()]).toEqual([young, young]);
  // Where the system does not tell its starts apart.
  expect([...readAgain({ old }, '').items.values()]).toEqual([young]);
  expect([...readAgain({ a: { ...file, ino: 3 } }).items.values()]).toEqual([file]);
});

test.for<Record<string, Entry>>([
  { a: { ...file, mode: 0o10644 } },
  { a: { ...file, mode: -1 } },
  { a: { ...file, size: -1 } },
  { a: { ...file, hash: `${'a'.repeat(63)}/` } },
  { '..': file },
  { '.': file },
  { 'a\0': file },
])('a folder with %o is none of ours', (items) => {
  expect(() => readAgain(items)).toThrow(DamagedStore);
});

test('no text but the whole of a record is read', () => {
  const { top } = FolderTree.from([['a', file]]);
  const text = writeFolder(top, 'boot', () => hash);
  const read = (bytes: Buffer) => readFolder(bytes, 'boot', 0, () => top);
  for (let end = 0; end < text.length; end++) expect(() => read(text.subarray(0, end))).toThrow(DamagedStore);
  expect(() => read(Buffer.concat([text, Buffer.from('{}')]))).toThrow(DamagedStore);
});
