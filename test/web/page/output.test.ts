import { expect, test } from 'vitest';
import { ansiReader, plainText } from '../../../src/web/page/text/ansi.ts';
import { linesWith, outputLines, shownPart } from '../../../src/web/page/text/output-lines.ts';

test('colours become classes, and go on until they are reset', () => {
  const read = ansiReader();
  expect(read('\x1b[1;31mfail\x1b[22m at \x1b[4m3')).toEqual([
    { text: 'fail', classes: 'a31 a-bold' },
    { text: ' at ', classes: 'a31' },
    { text: '3', classes: 'a31 a-underline' },
  ]);
  expect(read('next\x1b[0m plain')).toEqual([
    { text: 'next', classes: 'a31 a-underline' },
    { text: ' plain', classes: '' },
  ]);
});

test('palette and 24-bit colours become CSS colours', () => {
  const read = ansiReader();
  expect(read('\x1b[38;5;196;48;2;1;2;300mx')).toEqual([
    { text: 'x', classes: '', color: 'rgb(255, 0, 0)', background: 'rgb(1, 2, 255)' },
  ]);
  expect(read('\x1b[0;38;5;9;48;5;2my')).toEqual([{ text: 'y', classes: 'a91 a42' }]);
  expect(read('\x1b[0;38;5;244mz')).toEqual([{ text: 'z', classes: '', color: 'rgb(128, 128, 128)' }]);
});

test('other escapes and control characters are not shown', () => {
  expect(plainText('\x1b[2K\x1b]8;;https://x\x07link\x1b]8;;\x07\x00 \x1b[?25lend\x1b(B')).toBe('link end');
});

test('a line that was rewritten keeps its last text', () => {
  expect(outputLines('10%\r50%\r100%\ndone\r\n\x1b[2K\rend\x1b[0m\r\x1b[0m\n')).toEqual([
    '100%',
    'done',
    'end\x1b[0m',
  ]);
  expect(outputLines('a\n\nb')).toEqual(['a', '', 'b']);
  expect(outputLines('')).toEqual([]);
});

test('a long output shows its end, or the part around a wanted line', () => {
  const lines = Array.from({ length: 100 }, (_, i) => `line ${i + 1}`);
  expect(shownPart(lines, 10)).toEqual({ first: 90, lines: lines.slice(90) });
  expect(shownPart(lines, 10, 50)).toEqual({ first: 44, lines: lines.slice(44, 54) });
  expect(shownPart(lines, 10, 1).first).toBe(0);
  expect(shownPart(lines, 10, 1000).first).toBe(90);
  expect(shownPart(lines, 1000).first).toBe(0);
  expect(shownPart(lines, 15, undefined, 10)).toEqual({ first: 80, lines: lines.slice(80) });
});

test('a search finds words that colours interrupt, in any case', () => {
  expect(linesWith(['not \x1b[31mOK\x1b[0m 3', 'ok', 'fine'], 'not ok')).toEqual([0]);
  expect(linesWith(['a'], '')).toEqual([]);
});
