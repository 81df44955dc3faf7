import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { Hashes, Places } from '../../src/workspace/places.ts';
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

test('hashes are counted as they come, each once', () => {
  const hashes = new Hashes();
  for (let n = 0; n < 3000; n++) expect(hashes.add(hashOf(n % 2500))).toBe(n < 2500);
  expect([hashes.size, hashes.numberOf(hashOf(2499)), hashes.at(7)]).toEqual([2500, 2499, hashOf(7)]);
  expect([hashes.add('no hash'), hashes.has('no hash'), hashes.numberOf(hashOf(2500))]).toEqual([
    false,
    false,
    -1,
  ]);
  expect(() => hashes.at(2560)).toThrow('Internal');
});

const treeOf = (count: number) => {
  const entries = Array.from({ length: count }, (_, n): [string, Entry][] => [
    [`d-${n}`, { kind: 'dir', mode: 0o755 }],
    [`e-${n}`, { kind: 'link', mode: 0o777, target: `ü${n}` }],
    [
      `f-${n}\n,`,
      { kind: 'file', mode: 0o644, size: n, hash: hashOf(n), mtimeMs: n + 0.25, ctimeMs: n, ino: n },
    ],
  ]).flat();
  return new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
};

test('a file that was just written is not vouched for, nor is one in another start of the system', () => {
  const file = { kind: 'file', mode: 0o644, size: 1, hash: hashOf(1), ino: 7 } as const;
  const tree = new Map<string, Entry>([
    ['earlier', file],
    ['old', { ...file, mtimeMs: 1.25, ctimeMs: 2 }],
    ['young', { ...file, mtimeMs: 1.25 }],
  ]);
  const written = writeTree(tree, 'boot', { packs: ['pack'], placeOf: () => undefined });
  const text = Buffer.concat([...written.pieces]);
  text.set(written.head() ?? []);
  expect([...readTree([text], 'boot').tree]).toEqual([...tree]);
  expect([...readTree([text], 'another').tree.values()]).toEqual([
    file,
    { ...file, mtimeMs: 1.25 },
    { ...file, mtimeMs: 1.25 },
  ]);
});

test('a tree that is written in many pieces is read as it was', () => {
  const tree = treeOf(4000);
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

test('of a large tree no more is made a text than what is asked for', () => {
  const asked: string[] = [];
  const placeOf = (hash: string) => {
    asked.push(hash);
    return undefined;
  };
  const { pieces } = writeTree(treeOf(4000), 'boot', { packs: [], placeOf });
  for (const piece of pieces) {
    expect(piece.length).toBeLessThan(200_000);
    if (asked.length > 0) break;
  }
  expect(asked.length).toBeLessThan(1000);
});

test('however its pieces are cut, a text is read as the same tree, and none that ends early is', () => {
  const written = writeTree(treeOf(5), 'boot', { packs: ['pack'], placeOf: () => undefined });
  const text = Buffer.concat([...written.pieces]);
  const tree = [...treeOf(5)];
  const cut = (bytes: Buffer, length: number) =>
    Array.from({ length: Math.ceil(bytes.length / length) }, (_, n) =>
      bytes.subarray(n * length, (n + 1) * length),
    );
  for (const length of [1, 2, 3, 7, 64, text.length])
    expect([...readTree(cut(text, length), 'boot').tree]).toEqual(tree);
  for (let end = 0; end < text.length; end++)
    expect(() => readTree([text.subarray(0, end)], 'boot'), `${end}`).toThrow();
  for (const more of ['\n', ' ', '[]', ']}\n'])
    expect(() => readTree([text, Buffer.from(more)], 'boot'), more).toThrow();
});

test('a tree that tells of impossible files, or has a line that does not end, is none', () => {
  const tree = (...row: readonly unknown[]) =>
    Buffer.from(
      `{"schema_version":1,"boot":"","folders":[],"links":[],"files":[\n${JSON.stringify(row)}\n]}\n`,
    );
  expect(readTree([tree('a', 0o644, 1, hashOf(1), 0, '')], '').tree.size).toBe(1);
  for (const row of [
    ['a', 0o644, 1, '../../x', 0, ''],
    ['a', 0o644, -1, hashOf(1), 0, ''],
    ['a', 0o10000, 1, hashOf(1), 0, ''],
    ['a', 0o644, 2 ** 31, hashOf(1), 0, ''],
  ])
    expect(() => readTree([tree(...row)], ''), String(row)).toThrow('no file is like "a"');
  const pieces = [tree('a'.repeat(64)).subarray(0, 90), ...Array(20).fill(Buffer.alloc(65_536, 'a'))];
  expect(() => readTree(pieces, '')).toThrow('does not end');
});

test('a tree whose lists are in no order is read in order', () => {
  const lists = [
    [
      '"folders":',
      [
        ['z', 0o755],
        ['a', 0o755],
      ],
    ],
    ['"links":', [['m', 'to']]],
  ].map(([key, list]) => `${String(key)}${JSON.stringify(list)}`);
  const row = (path: string) => JSON.stringify([path, 0o644, 1, hashOf(1), 0, '']);
  const files = `"files":[\n${row('y')},\n${row('b')}\n]}\n`;
  const text = `{"schema_version":1,"boot":"",${lists.join(',')},${files}`;
  expect([...readTree([Buffer.from(text)], '').tree.keys()]).toEqual(['a', 'b', 'm', 'y', 'z']);
});
