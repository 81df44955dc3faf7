import { expect, test } from 'vitest';
import { showsNoCommit } from '../../../src/core/policy/commands.ts';

test.for([
  'status',
  'status --short src',
  'status --porcelain=v1 -uno',
  'diff --exit-code',
  'diff --exit-code HEAD -- a.txt',
  'diff --check src/a-b.js',
  'diff --quiet HEAD -- Makefile src/lib',
  'log -1 --oneline -- docs',
  'log -1 --format=%s',
  'log --oneline -n3',
  'rev-parse HEAD',
])('of commits that hold sealed files a check may ask: git %s', (text) => {
  expect(showsNoCommit(['git', ...text.split(' ')])).toBe(true);
});

test.for([
  '-c alias.x=!sh x',
  '-C . log -p',
  '--exec-path=. status',
  'show HEAD:a.txt',
  'diff 4b825dc HEAD',
  'diff 4b825dc -- Makefile',
  'diff -- :!Makefile',
  'diff a.txt..HEAD',
  'diff HEAD^',
  'diff --output=a.txt HEAD',
  'diff --ext-diff',
  'status --ignored=x -v',
  'log -p',
  'log -1 --format=%s --patch',
  'ls-files -s a.txt',
  'archive HEAD',
  'checkout HEAD',
  'constructor',
  '',
])('and not: git %s', (text) => {
  expect(showsNoCommit(['git', ...text.split(' ')])).toBe(false);
});

test('no other program is allowed', () => {
  expect(showsNoCommit(['./git', 'status'])).toBe(false);
});
