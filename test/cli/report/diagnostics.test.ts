import { expect, test } from 'vitest';
import { formatDiagnostic } from '../../../src/cli/report/diagnostics.ts';
import type { Diagnostic } from '../../../src/core/diagnostic.ts';
import { positionsOf } from '../../../src/dot/literals.ts';

/** A finding under the first place of `under` in `text`. */
function drawn(text: string, under: string, more: Partial<Diagnostic> = {}): string {
  const at = text.indexOf(under);
  const span = positionsOf(text).span(at, at + under.length);
  return formatDiagnostic(
    { code: 'x', severity: 'error', message: 'm', place: { file: 'p.dot', span }, ...more },
    text,
  );
}

test('a finding has its message, place and fix', () => {
  const text = 'digraph G {\n\n  start [shape=Mdiamond];\n}';
  expect(
    drawn(text, 'start', {
      code: 'exit-reachable',
      message: 'no exit can be reached from "start"',
      fix: 'add a node with shape=Msquare and an edge that leads to it',
    }),
  ).toBe(
    [
      'error[exit-reachable]: no exit can be reached from "start"',
      ' --> p.dot:3:3',
      '3 |   start [shape=Mdiamond];',
      '  |   ^^^^^',
      '  = fix: add a node with shape=Msquare and an edge that leads to it',
    ].join('\n'),
  );
});

test('a warning is named as one, and a wide line number moves the margin', () => {
  expect(drawn(`${'\n'.repeat(11)}ab cd`, 'cd', { severity: 'warning', fix: 'f' })).toBe(
    ['warning[x]: m', '  --> p.dot:12:4', '12 | ab cd', '   |    ^^', '   = fix: f'].join('\n'),
  );
});

test('without a text or a place there is no line', () => {
  const d: Diagnostic = { code: 'x', severity: 'error', message: 'm', fix: 'f' };
  expect(formatDiagnostic(d, 'text')).toBe('error[x]: m\n  = fix: f');
  const { span } = { span: positionsOf('ab').span(1, 2) };
  expect(formatDiagnostic({ ...d, place: { file: 'p.dot', span } }, undefined)).toBe(
    'error[x]: m\n --> p.dot:1:2\n  = fix: f',
  );
});

test.for([
  ['\ta\tb', 'b', '1 |     a   b', '  |         ^'],
  ['日本 x', 'x', '1 | 日本 x', '  |      ^'],
  ['日本 x', '日本', '1 | 日本 x', '  | ^^^^'],
  ['😀 x', 'x', '1 | 😀 x', '  |    ^'],
  ['e\u0301 x', 'x', '1 | e\u0301 x', '  |   ^'],
  ['a\u001b[31m x', 'x', '1 | a·[31m x', '  |        ^'],
  ['\uFEFFab', 'a', '1 | ab', '  | ^'],
  ['ab\r\ncd', 'b', '1 | ab', '  |  ^'],
  ['ab\ncd', 'b\nc', '1 | ab', '  |  ^'],
  ['ab', '', '1 | ab', '  | ^'],
] as const)('%j with %j under the caret', ([text, under, line, caret]) => {
  expect(drawn(text, under).split('\n').slice(2)).toEqual([line, caret]);
});

test('the end of a text without its last newline can be pointed at', () => {
  const span = positionsOf('ab').span(2, 2);
  const d: Diagnostic = { code: 'x', severity: 'error', message: 'm', place: { file: 'p.dot', span } };
  expect(formatDiagnostic(d, 'ab').split('\n').slice(1)).toEqual([' --> p.dot:1:3', '1 | ab', '  |   ^']);
});

test.for([0, 50, 100_000])('a very long line is cut to a window around the caret (%i before)', (before) => {
  const text = `${'a'.repeat(before)}HERE${'b'.repeat(100_000)}`;
  const [, , line = '', caret = ''] = drawn(text, 'HERE').split('\n');
  expect(line.length).toBeLessThan(120);
  expect(line.slice(caret.indexOf('^'), caret.lastIndexOf('^') + 1)).toBe('HERE');
  expect(line.endsWith('…')).toBe(true);
  expect(line.startsWith('1 | …')).toBe(before > 0);
});

test('a message stays on one line', () => {
  expect(drawn('a', 'a', { message: 'one\n  two\u0007' }).split('\n')[0]).toBe('error[x]: one two·');
});

test('colour is there only when asked for', () => {
  const d: Diagnostic = { code: 'x', severity: 'error', message: 'm' };
  expect(formatDiagnostic(d, undefined, true)).toContain('\u001b[');
  expect(formatDiagnostic(d, undefined)).not.toContain('\u001b[');
});

test('on a narrow terminal the line is cut to its width, with the caret in sight', () => {
  const text = `${'x'.repeat(70)} bad ${'y'.repeat(70)}`;
  const start = { offset: 71, line: 1, column: 72 };
  const span = { start, end: { offset: 74, line: 1, column: 75 } };
  const found: Diagnostic = { code: 'c', severity: 'error', message: 'm', place: { file: 'p.dot', span } };
  const [, , line = '', caret = ''] = formatDiagnostic(found, text, false, 40).split('\n');
  expect(line.length).toBeLessThanOrEqual(40);
  expect(line.slice(caret.indexOf('^'), caret.lastIndexOf('^') + 1)).toBe('bad');
});

test('invisible characters of a message are shown by their code point, except the joiners of an emoji', () => {
  const said = formatDiagnostic(
    { code: 'x', severity: 'error', message: '"a\u200B", "b\u00A0\u202E", "👩\u200D👧"' },
    undefined,
  );
  expect(said).toBe('error[x]: "a<U+200B>", "b<U+00A0><U+202E>", "👩\u200D👧"');
});
