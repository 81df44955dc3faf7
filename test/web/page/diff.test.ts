import fc from 'fast-check';
import { expect, test } from 'vitest';
import { diffPieces, patchLines, sideBySide } from '../../../src/web/page/text/diff-rows.ts';
import { changedWords } from '../../../src/web/page/text/diff-words.ts';

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

const patchOf = (signs: string): string =>
  `@@ -1 +1 @@\n${[...signs].map((sign, at) => `${sign}line ${at}\n`).join('')}`;

test('long changes are cut into pieces that together are the patch, each no longer than what is drawn at once', () => {
  const signs = fc.array(
    fc
      .tuple(fc.constantFrom(' ', '+', '-'), fc.integer({ min: 1, max: 500 }))
      .map(([sign, n]) => sign.repeat(n)),
    { maxLength: 6 },
  );
  fc.assert(
    fc.property(fc.array(signs, { maxLength: 3 }), (parts) => {
      const lines = patchLines(parts.map((part) => patchOf(part.join(''))).join(''));
      const pieces = diffPieces(lines);
      expect(pieces.flatMap((piece) => piece.lines)).toEqual(lines);
      expect(pieces.filter(({ begins }) => begins)).toHaveLength(parts.length);
      for (const piece of pieces) {
        expect(piece.lines.length).toBeLessThanOrEqual(400);
        expect(lines[piece.at]).toBe(piece.lines[0]);
      }
    }),
    { numRuns: 50 },
  );
});

test('a line that replaces another one has its new words marked, unless they have little in common', () => {
  const lines = patchLines(`@@ -1,3 +1,3 @@
-const total = price * count;
-return total
-gone
+const total = price * amount + tax;
+export { rounded };
`);
  const marked = [...changedWords(lines)].map(([{ text }, ranges]) =>
    ranges.map(([from, to]) => text.slice(from, to)),
  );
  expect(marked).toEqual([['count'], ['amount + tax']]);
});
