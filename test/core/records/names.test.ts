import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { forkWords, momentText, parsePoint } from '../../../src/core/records/names.ts';

test.for([
  ['check', { node: 'check', visit: undefined }],
  ['check@1', { node: 'check', visit: 1 }],
  ['_a9@12', { node: '_a9', visit: 12 }],
  ['A@007', { node: 'A', visit: 7 }],
] as const)('%s names an execution', ([text, point]) => {
  expect(parsePoint(text)).toEqual(point);
});

test.for([
  ['', 'names no node'],
  ['@2', 'names no node'],
  ['9a', 'names no node'],
  ['a-b@1', 'names no node'],
  [' a', 'names no node'],
  ['a@', 'whole number from 1 on'],
  ['a@0', 'whole number from 1 on'],
  ['a@-1', 'whole number from 1 on'],
  ['a@1.5', 'whole number from 1 on'],
  ['a@1e3', 'whole number from 1 on'],
  ['a@99999999999999999999', 'whole number from 1 on'],
  ['a@1@2', 'more than one "@"'],
] as const)('"%s" is refused: it %s', ([text, why]) => {
  expect(parsePoint(text)).toMatchObject({ problem: expect.stringContaining(why), fix: expect.any(String) });
});

test('a printed point can be parsed again', () => {
  fc.assert(
    fc.property(
      fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,12}$/),
      fc.integer({ min: 1, max: 1e6 }),
      fc.boolean(),
      (node, visit, before) => {
        const [word, typed] = momentText({ node, visit, before }).split(' ');
        expect(word).toBe(before ? 'before' : 'after');
        expect(parsePoint(typed ?? '')).toEqual({ node, visit });
        expect(forkWords({ run_id: 'r', node, visit, before })).toBe(`r ${word} ${typed}`);
      },
    ),
  );
});
