import fc from 'fast-check';
import { expect, test } from 'vitest';
import { diff } from '../../src/workspace/diff.ts';
import type { Changes, Entry, Snapshot } from '../../src/workspace/snapshot.ts';
import { FolderTree } from '../../src/workspace/tree.ts';

const file = (hash = '1', mode = 0o644): Entry => ({ kind: 'file', mode, size: 1, hash });
const link = (target = 'x'): Entry => ({ kind: 'link', mode: 0o777, target });
const dir = (mode = 0o755): Entry => ({ kind: 'dir', mode });
type Entries = { readonly [path: string]: Entry };
const snapshot = (entries: Entries): Snapshot => {
  const tree = FolderTree.from(Object.entries(entries));
  return { id: tree.top.id, tree };
};
const nothing: Changes = {
  created: [],
  modified: [],
  deleted: [],
  folders: { created: [], modified: [], deleted: [] },
};

const rows: readonly [string, Entries, Entries, Partial<Changes>][] = [
  ['a new file', {}, { a: file() }, { created: ['a'] }],
  ['a file that went', { a: file() }, {}, { deleted: ['a'] }],
  ['another content', { a: file('1') }, { a: file('2') }, { modified: ['a'] }],
  ['another mode alone', { a: file() }, { a: file('1', 0o755) }, { modified: ['a'] }],
  ['another target', { a: link('x') }, { a: link('y') }, { modified: ['a'] }],
  ['a file that became a link', { a: file() }, { a: link() }, { modified: ['a'] }],
  ['a rename', { a: file() }, { b: file() }, { created: ['b'], deleted: ['a'] }],
  [
    'a file that became a folder',
    { a: file() },
    { a: dir(), 'a/b': file() },
    { created: ['a/b'], deleted: ['a'], folders: { created: ['a'], modified: [], deleted: [] } },
  ],
  [
    'a folder that became a link',
    { a: dir(), 'a/b': file() },
    { a: link() },
    { created: ['a'], deleted: ['a/b'], folders: { created: [], modified: [], deleted: ['a'] } },
  ],
  [
    'folders apart',
    { old: dir(), shut: dir(), same: dir() },
    { new: dir(), shut: dir(0o700), same: dir() },
    { folders: { created: ['new'], modified: ['shut'], deleted: ['old'] } },
  ],
  [
    'several at once, sorted by code unit',
    { b: file('1'), B: file('1') },
    { b: file('2'), B: file('2'), é: file(), Z: file(), a: file() },
    { created: ['Z', 'a', 'é'], modified: ['B', 'b'] },
  ],
];

test.for(rows)('%s is reported as such', ([, before, after, told]) => {
  expect(diff(snapshot(before), snapshot(after))).toEqual({ ...nothing, ...told });
});

test('facts of the file system alone are no change', () => {
  const one = snapshot({ a: { ...file(), mtimeMs: 1, ctimeMs: 1, ino: 1 } });
  const other = snapshot({ a: { ...file(), mtimeMs: 2, ctimeMs: 2, ino: 2 } });
  expect(other.id).toBe(one.id);
  expect(diff(one, other)).toEqual(nothing);
});

const mode = fc.constantFrom(0o644, 0o755);
const entry = fc.oneof(
  fc.record({
    kind: fc.constant('file' as const),
    mode,
    size: fc.constant(1),
    hash: fc.constantFrom('1', '2'),
  }),
  fc.record({
    kind: fc.constant('link' as const),
    mode: fc.constant(0o777),
    target: fc.constantFrom('x', 'y'),
  }),
  fc.record({ kind: fc.constant('dir' as const), mode }),
);
const snapshots = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e'), entry).map(snapshot);

test('every path that differs is reported exactly once a side, and no other', () => {
  fc.assert(
    fc.property(snapshots, snapshots, (before, after) => {
      const { created, modified, deleted, folders } = diff(before, after);
      const told = [created, modified, deleted, folders.created, folders.modified, folders.deleted];
      for (const list of told) expect(list).toEqual([...new Set(list)].sort());
      const paths = new Set([...before.tree.keys(), ...after.tree.keys()]);
      const differing = [...paths].filter(
        (path) => JSON.stringify(before.tree.get(path)) !== JSON.stringify(after.tree.get(path)),
      );
      expect([...new Set(told.flat())].sort()).toEqual(differing.sort());
      for (const path of [...created, ...folders.created]) expect(after.tree.has(path)).toBe(true);
      for (const path of [...deleted, ...folders.deleted]) expect(before.tree.has(path)).toBe(true);
    }),
  );
});
