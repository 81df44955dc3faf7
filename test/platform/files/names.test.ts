import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  fromBytes,
  liesBelow,
  liesIn,
  parentOf,
  shownPath,
  toBytes,
} from '../../../src/platform/files/names.ts';

const bytes = fc.uint8Array({ maxLength: 12 }).map((array) => Buffer.from(array));
const text = fc.string({ unit: 'binary', maxLength: 8 });
const names = fc.oneof(
  bytes,
  text.map((s) => Buffer.from(s)),
  fc.tuple(text, bytes).map(([s, b]) => Buffer.concat([Buffer.from(s), b])),
);

test('a name in any bytes comes back unchanged, also through JSON', () => {
  fc.assert(
    fc.property(names, (name) => {
      const kept = JSON.parse(JSON.stringify(fromBytes(name)));
      expect(Buffer.from(toBytes(kept))).toEqual(name);
    }),
  );
});

test('a name in UTF-8 is itself', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (name) => {
      expect(fromBytes(Buffer.from(name))).toBe(name);
      expect(toBytes(name)).toBe(name);
    }),
  );
});

test('the replacement character in a name is no broken byte', () => {
  expect(fromBytes(Buffer.from('a\uFFFDb'))).toBe('a\uFFFDb');
  expect(fromBytes(Buffer.from([0x61, 0xff, 0xfe]))).toBe('a\uDCFF\uDCFE');
});

test('people see other bytes and control characters as numbers', () => {
  expect(shownPath(fromBytes(Buffer.from([0x61, 0xff, 0x0a])))).toBe('a\\xff\\x0a');
  expect(shownPath('grün 🙂')).toBe('grün 🙂');
});

test.for([
  ['a/b/c', 'a/b'],
  ['a', ''],
  ['', ''],
] as const)('the folder of "%s" is "%s"', ([path, folder]) => expect(parentOf(path)).toBe(folder));

test('what lies in a set of paths is one of them or below one', () => {
  const paths = new Set(['a/b', 'c']);
  expect(['a/b', 'a/b/x/y', 'c', 'c/d'].filter((path) => !liesIn(paths, path))).toEqual([]);
  expect(['', 'a', 'a/bc', 'a/b-c', 'cd', 'x/c'].filter((path) => liesIn(paths, path))).toEqual([]);
});

test('paths below folders are found in any order as each one alone', () => {
  const path = fc
    .array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 5 })
    .map((all) => all.join('/'));
  fc.assert(
    fc.property(fc.uniqueArray(path), fc.array(path), (folders, paths) => {
      const these = new Set(folders);
      const told = liesBelow(these);
      for (const one of paths) expect(told(one)).toBe(liesIn(these, parentOf(one)));
    }),
  );
});
