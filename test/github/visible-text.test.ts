/** What of a text people see on GitHub's page. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { beginsWithMark, hasMark, markOf } from '../../src/github/marks.ts';
import { visibleText } from '../../src/github/visible-text.ts';

test.for([
  ['a <!-- hidden --> b', 'a  b', 'a  b'],
  ['<!-- over\n\nlines -->\nb', 'b', 'b'],
  ['```html\n<!-- shown -->\n```', '<!-- shown -->', '```html\n<!-- shown -->\n```'],
  ['- ```\n  x\n  ```\n<!-- hidden in what looks like code -->', 'x', '- ```\n  x\n  ```'],
  ['x\r\n<!-- a -->y', 'x y', 'x\ny'],
  ['', '', ''],
] as const)('%j is %j on the page', ([markdown, shown, left]) => {
  expect(visibleText(markdown, shown)).toBe(left);
});

test('a comment without an end has no visible text', () => {
  expect(visibleText('a\n<!-- hidden\nb', 'a')).toBe(undefined);
  expect(visibleText('a <!-<!-- x -->- hidden', 'a')).toBe(undefined);
});

test('nothing that is hidden is left, and nothing without a comment is changed', () => {
  const words = fc.stringMatching(/^[a-z ]{1,20}$/);
  fc.assert(
    fc.property(words, words, fc.uuid(), (before, after, secret) => {
      expect(visibleText(`${before}<!-- ${secret} -->${after}`, before + after)).toBe(
        (before + after).trim(),
      );
      expect(visibleText(before, '')).toBe(before.trim());
    }),
  );
});

test('a mark counts at the beginning of a text only', () => {
  const mark = markOf('intake', '#12');
  expect(beginsWithMark(`${mark}\r\nQueued.`, mark)).toBe(true);
  for (const text of [` > ${mark}`, `x ${mark}`, `\n${mark}`, markOf('intake', '#123')])
    expect(beginsWithMark(text, mark)).toBe(false);
  expect([hasMark(mark), hasMark('<!-- other -->')]).toEqual([true, false]);
  expect(() => markOf('intake', '-->')).toThrow('Internal');
});
