import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { Places } from '../../src/workspace/places.ts';
import type { Entry } from '../../src/workspace/snapshot.ts';
import { readTree, treeHash, treeId, writeTree } from '../../src/workspace/tree.ts';

const hashOf = (n: number) => createHash('sha256').update(String(n)).digest('hex');

test('places are what a map of them would be, however many there are', () => {
  const places = new Places();
  const like = new Map<string, { pack: string; offset: number; size: number }>();
  for (let n = 0; n < 3000; n++) {
    const place = { pack: `pack-${n % 3}`, offset: n * 2 ** 33, size: n };
    places.add(hashOf(n % 2500), place);
    if (!like.has(hashOf(n % 2500))) like.set(hashOf(n % 2500), place);
  }
  expect([places.size, [...places]]).toEqual([like.size, [...like]]);
  for (const [hash, place] of like) expect(places.get(hash)).toEqual(place);
  for (const none of ['', 'no hash', hashOf(3000), `${hashOf(1).slice(1)}x`])
    expect([places.has(none), places.get(none)]).toEqual([false, undefined]);
  expect(() => places.add('no hash', { pack: 'pack', offset: 0, size: 1 })).toThrow('no content');
  expect(() => places.add(hashOf(3000), { pack: 'pack', offset: 0, size: 2 ** 32 })).toThrow('no content');
});

test('a tree that is written in many pieces is read as it was', () => {
  const entries = Array.from({ length: 4000 }, (_, n): [string, Entry][] => [
    [`d-${n}`, { kind: 'dir', mode: 0o755 }],
    [`e-${n}`, { kind: 'link', mode: 0o777, target: `ü${n}` }],
    [
      `f-${n}\n,`,
      { kind: 'file', mode: 0o644, size: n, hash: hashOf(n), mtimeMs: n + 0.25, ctimeMs: n, ino: n },
    ],
  ]).flat();
  const tree = new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  const packs = ['pack', 'pack-1'];
  const written = writeTree(tree, 'boot', { packs, placeOf: () => ({ pack: 'pack-1', offset: 7, size: 1 }) });
  const pieces = [...written.pieces];
  expect(pieces.length).toBeGreaterThan(10);
  const text = Buffer.concat(pieces);
  text.set(written.head() ?? []);
  const { is, says } = treeHash([text]);
  expect(is).toBe(says);
  const read = readTree([text], 'boot');
  expect([...read.tree]).toEqual([...tree]);
  expect(treeId(read.tree)).toBe(treeId(tree));
  expect([read.places.size, read.places.get(hashOf(3))]).toEqual([
    4000,
    { pack: 'pack-1', offset: 7, size: 3 },
  ]);
});
