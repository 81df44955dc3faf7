import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyDiff, applyEdits } from '../../../src/agents/openai/tools/diff.ts';

const numbers = 'one\ntwo\nthree\nfour\nfive\nsix\n';

test.for([
  ['the stated place', '@@ -2,2 +2,2 @@\n two\n-three\n+THREE\n', 'one\ntwo\nTHREE\nfour\nfive\nsix\n'],
  [
    'another place than stated',
    '@@ -5,2 +5,2 @@\n two\n-three\n+THREE',
    'one\ntwo\nTHREE\nfour\nfive\nsix\n',
  ],
  ['a header without numbers', '@@\n two\n-three\n+THREE\n', 'one\ntwo\nTHREE\nfour\nfive\nsix\n'],
  ['wrong counts', '@@ -2,99 +2,1 @@ f()\n two\n-three\n', 'one\ntwo\nfour\nfive\nsix\n'],
  [
    'names and an index before it',
    'diff --git a/n b/n\nindex 1..2 100644\n--- a/n\n+++ b/n\n@@ -1 +1 @@\n-one\n+ONE\n',
    'ONE\ntwo\nthree\nfour\nfive\nsix\n',
  ],
  [
    'two hunks, of which the first shifts the second',
    '@@ -1,1 +1,3 @@\n one\n+a\n+b\n@@ -6,1 +8,1 @@\n-six\n+SIX\n',
    'one\na\nb\ntwo\nthree\nfour\nfive\nSIX\n',
  ],
  [
    'lines added after one without context',
    '@@ -2,0 +3,1 @@\n+new\n',
    'one\ntwo\nnew\nthree\nfour\nfive\nsix\n',
  ],
  ['a removed line that looks like a name', '@@ -1,2 +1,1 @@\n one\n-two\n', 'one\nthree\nfour\nfive\nsix\n'],
] as const)('a diff is applied: %s', ([, diff, text]) => {
  expect(applyDiff(numbers, diff)).toEqual({ text });
});

test.for([
  ['@@ -1,2 +1,2 @@\n-a\n+A\n b\n', 'A\nb'],
  ['@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+B\n', 'a\nB'],
] as const)('a file without a last line end keeps it so: %j', ([diff, text]) => {
  expect(applyDiff('a\nb', diff)).toEqual({ text });
});

test('a file whose lines end in CR LF keeps them', () => {
  expect(applyDiff('a\r\nb\r\n', '@@ -1,2 +1,2 @@\n a\n-b\n+c\n')).toEqual({ text: 'a\r\nc\r\n' });
  expect(applyEdits('a\r\nb\r\nc\r\n', [{ find: 'a\nb', replace: 'x\ny' }])).toEqual({
    text: 'x\r\ny\r\nc\r\n',
  });
});

test('a new file is made by a diff that only adds', () => {
  expect(applyDiff('', '--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n')).toEqual({ text: 'a\nb\n' });
});

test.for([
  [
    'other context',
    '@@ -2,2 +2,2 @@\n two\n-THREE\n+3\n',
    'at line 3 it expects "THREE", and there is "three"',
  ],
  [
    'blanks that differ',
    '@@ -1 +1 @@\n-one \n+1\n',
    'hunk 1 of 1 does not apply: at line 1 it expects "one "',
  ],
  ['past the end', '@@ -6,2 +6,2 @@\n six\n-seven\n+7\n', 'it expects "seven", and the file has 6 lines'],
  ['no such line', '@@\n-nine\n+9\n', 'no line of the file is "nine"'],
  ['no hunk', '--- a\n+++ b\n', 'the diff has no hunk'],
  ['prose in it', '@@ -1 +1 @@\n-one\n+1\nThat is all.\n', 'line 4 of the diff begins with neither'],
  [
    'two files',
    '--- a\n+++ b\n@@ -1 +1 @@\n-one\n+1\n--- c\n+++ d\n@@ -1 +1 @@\n-two\n+2\n',
    'more than one file',
  ],
] as const)('a diff that does not fit is refused whole: %s', ([, diff, why]) => {
  const applied = applyDiff(numbers, diff);
  expect('problem' in applied && applied.problem).toContain(why);
});

test('a hunk that fits in two places is refused, unless it says which', () => {
  const twice = 'a\nx\nb\na\nx\nc\n';
  expect(applyDiff(twice, '@@\n a\n-x\n+y\n')).toEqual({ problem: expect.stringContaining('ambiguous') });
  expect(applyDiff(twice, '@@ -4,2 +4,2 @@\n a\n-x\n+y\n')).toEqual({ text: 'a\nx\nb\na\ny\nc\n' });
});

test.for([
  [[{ find: 'two', replace: '2' }], { text: 'one\n2\nthree\nfour\nfive\nsix\n' }],
  [[{ find: 'e', replace: '' }], { problem: expect.stringContaining('is at lines 1 and 3') }],
  [[{ find: 'nine', replace: '' }], { problem: expect.stringContaining('nowhere in the file') }],
  [[{ find: '', replace: 'x' }], { problem: expect.stringContaining('empty "find"') }],
  [
    [{ find: '  two\n  three', replace: '' }],
    {
      problem: expect.stringContaining('its first line is line 2, and what follows (or its indentation)'),
    },
  ],
  [
    [
      { find: 'two', replace: '$& and $1' },
      { find: '$& and', replace: 'X' },
    ],
    { text: 'one\nX $1\nthree\nfour\nfive\nsix\n' },
  ],
  [
    [
      { find: 'two', replace: '2' },
      { find: 'two', replace: '3' },
    ],
    { problem: expect.stringContaining('edit 2 of 2 does not apply') },
  ],
] as const)('edits %j give %j', ([edits, wanted]) => {
  expect(applyEdits(numbers, edits)).toEqual(wanted);
});

test('the diff of two texts, written out in full, makes the one the other', () => {
  const text = fc.array(fc.constantFrom('a', 'b', '', '+c', '-- d', ' e', '@'), {
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(text, text, (before, after) => {
      const diff = [
        `@@ -1,${before.length} +1,${after.length} @@`,
        ...before.map((l) => `-${l}`),
        ...after.map((l) => `+${l}`),
      ];
      expect(applyDiff(`${before.join('\n')}\n`, `${diff.join('\n')}\n`)).toEqual({
        text: `${after.join('\n')}\n`,
      });
    }),
  );
});
