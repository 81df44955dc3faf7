import { expect, test } from 'vitest';
import { escaped, shortCondition, textWidth, wrapped } from '../../../src/app/picture/text.ts';

test.for([
  ['outcome=success', '', 'success'],
  ['outcome=fail && preferred_label=revise', 'revise', 'fail'],
  ['outcome=fail && last_failure.hopeless!=true', '', 'fail, last_failure.hopeless ≠ true'],
  ['context.tries >= 3', '', 'tries >= 3'],
  ['outcome=fail || preferred_label!=again && (a=b)', '', 'fail or preferred_label ≠ again and (a = b)'],
  ['', '', ''],
] as const)('the condition %s at an edge "%s" is shortened to "%s"', ([condition, label, short]) =>
  expect(shortCondition(condition, label)).toBe(short),
);

test.for([
  ['Check scope and hashes, write', 4, ['Check scope', 'and hashes,', 'write']],
  ['one\\ntwo\nthree', 4, ['one', 'two', 'three']],
  ['exit_when_the_product_is_unfit', 4, ['exit_when_', 'the_product_', 'is_unfit']],
  ['a b c d e f g h i j k l m n o p q r s t u v w x y z', 2, ['a b c d e f g h i', 'j k l m n o p q…']],
  ['', 4, []],
] as const)('the label "%s" in at most %d lines', ([label, most, lines]) => {
  const broken = wrapped(label, 100, 12, most);
  expect(broken).toEqual(lines);
  for (const line of broken) expect(textWidth(line, 12)).toBeLessThanOrEqual(100);
});

test('text of an author is escaped, and what XML does not have is dropped', () => {
  expect(escaped('<a href="x">&\u0007\u009b\ud800é')).toBe('&lt;a href=&quot;x&quot;&gt;&amp;é');
});
