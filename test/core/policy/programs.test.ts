import { expect, test } from 'vitest';
import { invocation, patternWords, programTexts } from '../../../src/core/policy/programs.ts';

test.for<[command: string, program: string, assigned: string[]]>([
  ['A=1 B+=2 usr/bin/x y', 'x', ['A', 'B']],
  ['if ! env -u X -i C=3 x', 'x', ['C']],
  ['timeout --signal KILL 5s nice -n 10 x', 'x', []],
  ['xargs -n 1 -I {} x {}', 'x', []],
  ['export A B=1', 'export', ['B']],
  ['A=1', '', ['A']],
])('%j is about the program %j', ([command, program, assigned]) => {
  expect(invocation(command.split(' '))).toMatchObject({ program, assigned });
});

test.for<[command: string, patterns: number[]]>([
  ['grep -rn a b', [2]],
  ['grep -m 1 a b', [3]],
  ['grep -e a -eb c', [2, 3]],
  ['grep -f a b', []],
  ['grep -- a b', [2]],
  ['grep -e', []],
  ['sed -i.bak -n a b', [3]],
  ['awk -F / a b', [2, 3]],
  ['rg --files a', []],
  ['jq --arg a b c d', [4]],
  ['git grep a b', [2]],
  ['cat grep a', []],
])('the patterns of %j are the words %j', ([command, patterns]) => {
  expect([...patternWords(command.split(' '))]).toEqual(patterns);
});

test.for<[command: string, language: string, text: string]>([
  ['bash -c a b', 'shell', 'a'],
  ['bash -euo pipefail -c -- a', 'shell', 'a'],
  ['find . -exec sh -ec a ;', 'shell', 'a'],
  ['python -c a -c b', 'python', 'a'],
  ['env X=1 usr/bin/python3.12 -I -Bc -1', 'python', '-1'],
  ['node --no-warnings -p -e a', 'javascript', 'a'],
  ['node --eval=a=b', 'javascript', 'a=b'],
  ['perl -ne a b', 'other', 'a'],
])('%j runs a program of %s', ([command, language, text]) => {
  expect(programTexts(command.split(' '))).toMatchObject([{ language, text }]);
});

test.for([
  'bash a.sh -c b',
  'sh -e',
  'python a.py -c b',
  'python -m x -c b',
  'node a.js -e b',
  'echo node -e b',
])('%j holds no program text', (command) => {
  expect(programTexts(command.split(' '))).toEqual([]);
});
