import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type EdgeCondition, evaluate, parseCondition } from '../../src/core/conditions.ts';
import { conditionText } from '../support/condition-text.ts';

const parsed = (text: string): EdgeCondition => {
  const read = parseCondition(text);
  if (!('condition' in read)) throw new Error(`${text}: ${read.message}`);
  return read.condition;
};
const holds = (text: string, context: Readonly<Record<string, string>>) =>
  evaluate(parsed(text), (key) => context[key] ?? '');

test.for([
  ['outcome=success', { outcome: 'success' }, true],
  ['outcome=success', { outcome: 'fail' }, false],
  ['outcome!=success', { outcome: 'fail' }, true],
  ['outcome=succeeded', { outcome: 'success' }, true],
  ['outcome=pass', { outcome: 'success' }, true],
  ['outcome != failed', { outcome: 'fail' }, false],
  ['outcome=failure', { outcome: 'fail' }, true],
  ['preferred_label=pass', { preferred_label: 'success' }, false],
  ['outcome=partial_success', { outcome: 'partial_success' }, true],
  ['context.x=', { 'context.x': '' }, 'error'],
  ['context.x=""', {}, true],
  ["context.x=''", {}, true],
  ['context.x!=""', { 'context.x': 'a' }, true],
  ['context.n < 10', { 'context.n': '9' }, true],
  ['context.n < 10', { 'context.n': '9.5' }, true],
  ['context.n >= 10', { 'context.n': '10.0' }, true],
  ['context.n > -1', { 'context.n': '0' }, true],
  ['context.n < 10', { 'context.n': '9a' }, false],
  ['context.n < b', { 'context.n': 'a' }, true],
  ['context.n < 10', {}, true],
  ['context.n<=10', { 'context.n': '1e1' }, true],
  ['context.n>0x1', { 'context.n': '2' }, true],
  ['tool.output contains PASS', { 'tool.output': 'a PASS b' }, true],
  ['tool.output contains "two words"', { 'tool.output': 'has two words' }, true],
  ['tool.output matches "^v\\d+(\\.\\d+)*$"', { 'tool.output': 'v1.2' }, true],
  ['tool.output matches ^v\\d+$', { 'tool.output': 'v12' }, true],
  ['context.outcome=pass', { 'context.outcome': 'success' }, true],
  ['context.outcome=has_dod', { preferred_label: 'has_dod' }, true],
  ['!tool.output contains PASS', { 'tool.output': 'a FAIL' }, true],
  ['!tool.output contains PASS', { 'tool.output': 'a PASS' }, false],
  ['!outcome=success', { outcome: 'fail' }, true],
  ['!outcome=success && a=1', { outcome: 'fail', a: '1' }, true],
  ['!(outcome=success && a=1)', { outcome: 'success', a: '2' }, true],
  ['a=1 || b=1 && c=1', { a: '1' }, true],
  ['(a=1 || b=1) && c=1', { a: '1' }, false],
  ['a=1||b=1&&c=1', { b: '1', c: '1' }, true],
  ['context.flag', { 'context.flag': 'yes' }, true],
  ['context.flag', { 'context.flag': 'false' }, false],
  ['context.flag', { 'context.flag': '0' }, false],
  ['!context.flag', {}, true],
  ['a="x && y"', { a: 'x && y' }, true],
  ['a="say \\"hi\\""', { a: 'say "hi"' }, true],
  ["a='it is'", { a: 'it is' }, true],
  ['contains contains contains', { contains: 'it contains it' }, true],
  ['failure_class=infra', { failure_class: 'infra' }, true],
  ['failure_class=transient_infra', { failure_class: 'timeout' }, true],
  ['failure_class!=transient_infra', { failure_class: 'timeout' }, false],
  ['failure_class=deterministic', { failure_class: 'config' }, true],
  ['failure_class=deterministic', { failure_class: 'infra' }, false],
  ['failure_class!=deterministic', {}, true],
  ['context.failure_class=budget_exhausted', { 'context.failure_class': 'budget' }, true],
  ['failure_class=canceled', { failure_class: 'cancelled' }, true],
] as const)('%s of %j is %s', ([text, context, wanted]) => {
  if (wanted === 'error') expect(parseCondition(text)).toHaveProperty('message');
  else expect(holds(text, context)).toBe(wanted);
});

test.for([
  ['', 0, 0],
  ['   ', 0, 0],
  ['outcome=', 7, 1],
  ['outcome==success', 7, 2],
  ['outcome=success &&', 16, 2],
  ['&& a=1', 0, 2],
  ['outcome=success and a=1', 16, 3],
  ['label=needs work', 12, 4],
  ['(a=1', 0, 1],
  ['a=1)', 3, 1],
  ['a matches "("', 10, 3],
  ['a="never', 2, 6],
  ['"a"=1', 0, 3],
  ['1a=1', 0, 2],
  ['a..b=1', 0, 4],
  ['a=1 b=2', 4, 1],
  ['a=b=c', 3, 1],
  ['!', 0, 1],
  ['a < ', 2, 1],
  ['a=&&', 2, 2],
  ['()', 1, 1],
] as const)('%s is refused at %i', ([text, at, length]) => {
  expect(parseCondition(text)).toMatchObject({ at, length });
});

test('a condition nested too deeply or too long is refused, not a crash', () => {
  expect(parseCondition(`${'('.repeat(50_000)}a${')'.repeat(50_000)}`)).toHaveProperty('message');
  expect(parseCondition('!'.repeat(50_000))).toHaveProperty('message');
  expect(parseCondition(Array(50_000).fill('a=1').join(' && '))).toHaveProperty('message');
});

test('a condition lists its literals with their places', () => {
  expect(parseCondition('outcome=maybe && a contains "x y"')).toMatchObject({
    compared: [
      { key: 'outcome', test: '=', literal: 'maybe', at: 8, length: 5 },
      { key: 'a', test: 'contains', literal: 'x y', at: 28, length: 5 },
    ],
  });
});

const key = fc.stringMatching(/^[A-Za-z_][\w-]{0,5}(\.[\w-]{1,4}){0,2}$/);
const leaf: fc.Arbitrary<EdgeCondition> = fc.oneof(
  key.map((k): EdgeCondition => ({ op: 'truthy', key: k })),
  fc.record({
    op: fc.constant('compare' as const),
    key,
    test: fc.constantFrom('=', '!=', '<', '<=', '>', '>=', 'contains'),
    literal: fc.string({ unit: 'grapheme' }),
  }),
  key.map((k): EdgeCondition => ({ op: 'compare', key: k, test: 'matches', literal: '^(a|b)\\.\\d+$' })),
);
const { tree } = fc.letrec<{ tree: EdgeCondition }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    tie('tree').map((of): EdgeCondition => ({ op: 'not', of })),
    fc.record({ op: fc.constantFrom('and', 'or'), left: tie('tree'), right: tie('tree') }),
  ),
}));

test('a printed condition parses to the same condition', () => {
  fc.assert(
    fc.property(tree, (condition) => {
      expect(parsed(conditionText(condition))).toEqual(condition);
    }),
  );
});

test('any text is a condition or a problem inside the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'ab.=!<>&|()"\' \\1-') }), (text) => {
      const read = parseCondition(text);
      if ('condition' in read) evaluate(read.condition, () => '');
      else {
        expect(read.at).toBeGreaterThanOrEqual(0);
        expect(read.at + read.length).toBeLessThanOrEqual(text.length);
      }
    }),
    { numRuns: 2000 },
  );
});

test('a property name of every object is not a joiner', () => {
  expect(parseCondition('a constructor b')).toMatchObject({
    message: expect.stringMatching(/^&& or \|\| is missing here/),
  });
});

test.for([
  ['n=>5', '=> is written >=', 1, 2],
  ['n =< 5', '=< is written <=', 2, 2],
  ['x <> y', '<> is written !=', 2, 2],
  ['not x', '"not" is written !', 0, 3],
  ['a && NOT (b=1)', '"NOT" is written !', 5, 3],
  ['x=“a”', 'use straight quotes, " or \', around a text', 2, 3],
  ['x = > 5', 'a value is missing after =; the empty text is written ""', 4, 1],
] as const)('%s is refused: %s', ([text, message, at, length]) => {
  expect(parseCondition(text)).toMatchObject({ message, at, length });
});

test('and, or and not are keys in conditions', () => {
  expect(conditionText(parsed('not=1 && or && and contains x'))).toBe('not=1 && or && and contains x');
});
