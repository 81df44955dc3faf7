/** The form of a snapshot's tree on disk. */
import { expect, test } from 'vitest';
import { sha256 } from '../../src/model/sha256.ts';
import type { Entry } from '../../src/workspace/snapshot.ts';
import { readTree, treeId, writeTree } from '../../src/workspace/tree.ts';

const hash = sha256('content');
const file = { kind: 'file', mode: 0o644, size: 1, hash } as const;

const treeOf = (count: number): ReadonlyMap<string, Entry> => {
  const entries = Array.from({ length: count }, (_, n): [string, Entry][] => [
    [`d-${n}`, { kind: 'dir', mode: 0o755 }],
    [`e-${n}`, { kind: 'link', mode: 0o777, target: `ü${n}` }],
    [`f-${n}\n,`, { ...file, hash: sha256(`${n}`), mtimeMs: n + 0.25, ctimeMs: n, ino: n }],
  ]).flat();
  return new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
};

test('a tree that was written is read back, with the places of its contents', () => {
  const tree = treeOf(400);
  const place = { pack: 'pack-1', offset: 7, size: 1 };
  const read = readTree(Buffer.concat(writeTree(tree, 'boot', () => place)), treeId(tree), 'boot');
  expect([...read.tree]).toEqual([...tree]);
  expect([read.places.size, read.places.get(sha256('3'))]).toEqual([400, place]);
});

test('a file that was just written is not vouched for, nor is one in another start of the system', () => {
  const tree = new Map<string, Entry>([
    ['old', { ...file, mtimeMs: 1.25, ctimeMs: 2, ino: 7 }],
    ['young', { ...file, mtimeMs: 1.25 }],
  ]);
  const text = Buffer.concat(writeTree(tree, 'boot', () => undefined));
  expect([...readTree(text, treeId(tree), 'boot').tree]).toEqual([...tree]);
  const young = { ...file, mtimeMs: 1.25 };
  expect([...readTree(text, treeId(tree), 'another').tree.values()]).toEqual([young, young]);
});

test('no text that ends early, has more at its end or belongs to another name is read', () => {
  const tree = treeOf(5);
  const text = Buffer.concat(writeTree(tree, 'boot', () => undefined));
  for (let end = 0; end < text.length; end++)
    expect(() => readTree(text.subarray(0, end), treeId(tree), 'boot'), `${end}`).toThrow();
  for (const more of ['\n', ' ', '[]', ']}\n'])
    expect(() => readTree(Buffer.concat([text, Buffer.from(more)]), treeId(tree), 'boot'), more).toThrow();
  expect(() => readTree(text, treeId(treeOf(4)), 'boot')).toThrow('another name');
});
