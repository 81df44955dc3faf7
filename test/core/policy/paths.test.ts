import fc from 'fast-check';
import { expect, test } from 'vitest';
import { folderInScope, inScope, outsideScope } from '../../../src/core/policy/paths.ts';

test.for<[path: string, allowed: string[], inside: boolean]>([
  ['a.txt', ['a.txt'], true],
  ['a.txt', [' a.txt '], true],
  ['a.txt', ['./a.txt'], true],
  ['./a.txt', ['a.txt'], true],
  ['a/b', ['a//b'], true],
  ['a/b', ['a/./b'], true],
  ['src/m.go', ['a.txt', 'src/'], true],
  ['src/deep/m.go', ['./src//'], true],
  ['out/a.txt', ['out'], false],
  ['out', ['out/'], false],
  ['output/a.txt', ['out/'], false],
  ['a.txt.bak', ['a.txt'], false],
  ['b/a.txt', ['a.txt'], false],
  ['A.txt', ['a.txt'], false],
  ['a.txt', [], false],
  ['a.txt', [''], false],
  ['a.txt', ['.'], false],
  ['a.txt', ['*'], false],
  ['any/thing', ['./'], true],
  ['etc/x', ['/etc/'], false],
  ['/etc/x', ['etc/', './'], false],
  ['.factory/in/x', ['./'], true],
  [' a.txt', ['a.txt'], false],
])('%s under %j: %s', ([path, allowed, inside]) => {
  expect(inScope(path, allowed)).toBe(inside);
});

test('paths outside the scope are listed once, sorted', () => {
  expect(outsideScope(['z', 'src/a', 'b', 'z', 'Z'], ['src/'])).toEqual(['Z', 'b', 'z']);
  expect(outsideScope(['src/a'], ['src/'])).toEqual([]);
});

test.for<[folder: string, allowed: string[], inside: boolean]>([
  ['a', ['a/b/c.txt'], true],
  ['a/b', ['a/b/c.txt'], true],
  ['a/b/', ['a/b/c.txt'], true],
  ['a/c', ['a/b/c.txt'], false],
  ['out', ['out/'], true],
  ['out/deep', ['out/'], true],
  ['ou', ['out/'], false],
  ['out', ['out'], true],
  ['out/deep', ['out'], false],
  ['x', ['./'], true],
  ['x', ['./x/y/'], true],
  ['x', [], false],
  ['/x', ['x/'], false],
])('the folder %s under %j: %s', ([folder, allowed, inside]) => {
  expect(folderInScope(folder, allowed)).toBe(inside);
});

test('every parent folder of an allowed path may appear', () => {
  const name = fc.stringMatching(/^[a-z]{1,3}$/);
  fc.assert(
    fc.property(fc.array(name, { minLength: 2, maxLength: 5 }), fc.boolean(), (parts, folder) => {
      const entry = parts.join('/') + (folder ? '/' : '');
      const changed = folder ? `${entry}x` : entry;
      expect(inScope(changed, [entry])).toBe(true);
      for (let count = 1; count < parts.length; count++) {
        expect(folderInScope(parts.slice(0, count).join('/'), [entry])).toBe(true);
      }
    }),
  );
});
