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
  ['a\n\n[//]: # (hidden)\n\nb', 'a\nb', 'a\n\nb'],
  ['a\n\n[x]: #\n  "hidden\n  text"\n\nb', 'a\nb', 'a\n\nb'],
  ['see [docs]\n\n[docs]: https://x.example "hidden"', 'see docs', 'see [docs]\n\n[docs]: https://x.example'],
  ['> [hidden]: x\n\nb', 'b', '> \n\nb'],
  ['a\n\n1. [hidden]: x', 'a\n1.', 'a\n\n1.'],
  ['a\n\n[x\\]y]: # (hidden)', 'a', 'a'],
  ['a\n\n[x\ny]: # (hidden)', 'a', 'a'],
  ['a\n\n[x]: # "hid \\" den"', 'a', 'a'],
  ['a\n\n[x]: <y \\> hidden>', 'a', 'a'],
  ['```\n[a]: b "c"\n```', '[a]: b "c"', '```\n[a]: b "c"\n```'],
  ['a[^1]\n\n[^1]: a note', 'a1\na note', 'a[^1]\n\n[^1]: a note'],
  ['a <?php hidden ?> <![CDATA[hidden]]> <!DOCTYPE hidden>b', 'a b', 'a   b'],
  ['```php\n<?php shown(); ?>\n```', '<?php shown(); ?>', '```php\n<?php shown(); ?>\n```'],
  [
    'family \u{1f468}\u200d\u{1f469}, \u{e0068}\u{e0069}\u202eright\u0007',
    'family',
    'family \u{1f468}\u200d\u{1f469}, right',
  ],
] as const)('%j is %j on the page', ([markdown, shown, left]) => {
  expect(visibleText(markdown, shown)).toBe(left);
});

test('a long title of a definition is hidden, too', () => {
  expect(visibleText(`a\n\n[x]: # (${'hidden '.repeat(500)})`, 'a')).toBe('a');
});

test('a comment without an end has no visible text', () => {
  expect(visibleText('a\n<!-- hidden\nb', 'a')).toBe(undefined);
  expect(visibleText('a <!-<!-- x -->- hidden', 'a')).toBe(undefined);
});

test.for(['[a]: ((((', '[a]: b (\n', '[a]: b "', '[a', '- > ', '<!-- --', '<?', '<!a'])(
  'a long text of %j has an end',
  (part) => {
    visibleText(part.repeat(60_000 / part.length), '');
  },
);

// Looked for from each beginning, these would take many minutes.
test.for([
  ['spaces behind a label', `[a]:${' '.repeat(2_000_000)}`, '[a]:'],
  ['definitions', Array.from({ length: 200_000 }, (_, n) => `[a${n}]: b`).join('\n'), ''],
  ['beginnings without an end', `${'<?'.repeat(500_000)} >`, `${'<?'.repeat(500_000)} >`],
] as const)('a text of very many %s is read once', ([, text, left]) => {
  expect(visibleText(text, '')).toBe(left);
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
