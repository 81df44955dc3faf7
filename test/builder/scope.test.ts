import { expect, test } from 'vitest';
import { forbiddenBy } from '../../src/builder/scope.ts';

test.for([
  ['src/app.py', 'src/app.py', true],
  ['src/app.py', 'src/app.pyc', false],
  ['./src/', 'src/deep/app.py', true],
  ['src', 'source/app.py', false],
  ['*.lock', 'deep/yarn.lock', true],
  ['*.lock', 'yarn.lock.txt', false],
  ['src/*.py', 'src/deep/a.py', false],
  ['src/**/*.py', 'src/a.py', true],
  ['src/**', 'src/deep/a.py', true],
  ['**/secret.txt', 'a/b/secret.txt', true],
  ['a?.txt', 'ab.txt', true],
  ['a?.txt', 'a/.txt', false],
  ['[ab].txt', 'b.txt', true],
  ['[!ab].txt', 'b.txt', false],
  ['*.{js,ts}', 'x/y.ts', true],
  ['[z-a].txt', 'z.txt', false],
  ['a+b(1).txt', 'a+b(1).txt', true],
  ['`package.json`', 'package.json', true],
  ['Do not modify package.json', 'package.json', true],
  ["don't touch the files a.txt, src/*.py or b.txt.", 'src/x.py', true],
  ['Never create or change anything in `docs/`', 'docs/x.md', true],
  ['Do not modify package.json except its version', 'package.json', false],
  ['Do not import from src/app.py', 'src/app.py', false],
  ['Do not change public behaviour', 'behaviour', false],
  ['networking', 'src/net.py', false],
  ['..', 'a.txt', false],
  ['', 'a.txt', false],
] as const)('"%s" and %s: %s', ([entry, path, forbidden]) => {
  expect(forbiddenBy(['no new dependencies', entry], path)).toBe(forbidden ? entry : undefined);
});
