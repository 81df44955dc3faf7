import { expect, test } from 'vitest';
import { patchLines, sideBySide } from '../../../src/web/page/text/diff-rows.ts';

const patch = `diff --git a/src/a.ts b/src/a.ts
--- a/src/a.ts
+++ b/src/a.ts
@@ -1,4 +1,4 @@ function a() {
 one
-two
-three
+2
 four
+five
\\ No newline at end of file
`;

test('lines of a patch have their numbers on both sides', () => {
  expect(patchLines(patch).map(({ kind, before, after, text }) => [kind, before, after, text])).toEqual([
    ['hunk', null, null, '@@ -1,4 +1,4 @@ function a() {'],
    ['same', 1, 1, 'one'],
    ['removed', 2, null, 'two'],
    ['removed', 3, null, 'three'],
    ['added', null, 2, '2'],
    ['same', 4, 3, 'four'],
    ['added', null, 4, 'five'],
    ['hunk', null, null, 'No newline at end of file'],
  ]);
});

test('side by side, a changed line is next to what replaces it', () => {
  expect(
    sideBySide(patchLines(patch)).map(([left, right]) => [left?.text ?? null, right?.text ?? null]),
  ).toEqual([
    ['@@ -1,4 +1,4 @@ function a() {', '@@ -1,4 +1,4 @@ function a() {'],
    ['one', 'one'],
    ['two', '2'],
    ['three', null],
    ['four', 'four'],
    [null, 'five'],
    ['No newline at end of file', 'No newline at end of file'],
  ]);
});

test('a patch without lines is empty', () => {
  expect(patchLines('')).toEqual([]);
});
