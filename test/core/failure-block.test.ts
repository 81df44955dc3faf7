import { expect, test } from 'vitest';
import { failureBlock, placesNear } from '../../src/core/failure-block.ts';
import { placesIn } from '../../src/core/failure-place.ts';

test.for([
  ['src/a.ts:3:5 - error TS2322: x', [['src/a.ts', 3]]],
  ['src/a.ts(3,5): error TS2322: x', [['src/a.ts', 3]]],
  ['  File "/w/app/main.py", line 12, in <module>', [['/w/app/main.py', 12]]],
  ['    at add (file:///w/src/sum.js:4:9)', [['/w/src/sum.js', 4]]],
  ['scripts/check.sh: line 7: x: unbound variable', [['scripts/check.sh', 7]]],
  ['--> src/main.rs:2:9', [['src/main.rs', 2]]],
  [
    'a_test.go:14: got 1, want 2 (see b.go:3)',
    [
      ['a_test.go', 14],
      ['b.go', 3],
    ],
  ],
  ['listening on 127.0.0.1:8080', []],
  ['v1.2:3 of 12:30:01', []],
  ['not ok 3 - finds a broken anchor', []],
] as const)('the line %j names the places %j', ([line, places]) =>
  expect(placesIn(line).map(({ file, line: at }) => [file, at])).toEqual(places),
);

const numbered = (count: number, telling: number): string =>
  Array.from({ length: count }, (_, at) => (at + 1 === telling ? 'not ok 7 - adds' : `ok ${at + 1}`)).join(
    '\n',
  );

test.for([
  ['in the middle', numbered(40, 20), { first: 16, at: 4, length: 10 }],
  ['at the beginning', numbered(40, 2), { first: 1, at: 1, length: 10 }],
  ['at the end', numbered(40, 40), { first: 36, at: 4, length: 5 }],
  ['nowhere', numbered(40, 0), { first: 31, at: null, length: 10 }],
] as const)('a block of ten lines around a telling line %s', ([, output, { length, ...is }]) => {
  const block = failureBlock(output);
  expect(block).toMatchObject(is);
  expect(block?.lines).toHaveLength(length);
  if (block?.at != null) expect(block.lines[block.at]).toBe('not ok 7 - adds');
});

test('a telling line of another output is looked for, colours or not; an output without it, or without text, has no block', () => {
  const output = 'ok 1\n\x1b[31m  not ok 2 - x\x1b[0m\nok 3\n\n';
  expect(failureBlock(output, 'not ok 2 - x')).toEqual({
    lines: ['ok 1', '  not ok 2 - x', 'ok 3'],
    first: 1,
    at: 1,
  });
  expect(failureBlock(output, 'not ok 9')).toBeUndefined();
  expect(failureBlock(' \n\n')).toBeUndefined();
});

test('the place nearest to the telling line comes first', () => {
  const lines = ['far.js:1', 'near.js:2', 'not ok', 'x'];
  expect(placesNear({ lines, at: 2 }).map(({ file }) => file)).toEqual(['near.js', 'far.js']);
});
