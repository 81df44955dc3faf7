import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bareOf, knownLines, type Run, readings } from '../../src/policy/known-lines.ts';

test.for([
  ['  const a = 1;', 'consta=1'],
  ['+ 12 | say "x"', 'sayx'],
  ['// grüße — ', 'grüße'],
  ['日本 42 %', '日本42'],
  ['_x', '_x'],
  ['}', ''],
  ['12 + 4', ''],
] as const)('the bare form of %j is %j', ([line, bare]) => {
  expect(bareOf(line)).toBe(bare);
});

test.for<[text: string, read: string[]]>([
  ['a\nb', ['a\nb']],
  ['"a\\nb"', ['"a\\nb"', '\u0001a\u0001b\u0001']],
  ['a\\r\\nb\\tc', ['a\\r\\nb\\tc', 'a\u0001b\tc']],
  ['\\\\n', ['\\\\n', '\\n', '\u0001']],
  ['\\"\\n', ['\\"\\n', '"\u0001']],
  ['\\x\\/\\n', ['\\x\\/\\n', '\\x/\u0001']],
  ['é\\n\\', ['é\\n\\', 'é\u0001\\']],
])('%j is read as %j', ([text, read]) => {
  expect([...readings(Buffer.from(text))].map(String)).toEqual(read);
});

/** As it would be told line by line. */
function told(text: string, lines: ReadonlySet<string>, length: number): Run[] {
  const worth: { bare: string; at: number }[] = [];
  for (const [index, line] of text.split('\n').entries())
    for (const part of line.split(/[\r\u0001]/)) {
      const bare = bareOf(part);
      if (bare !== '') worth.push({ bare, at: index + 1 });
    }
  const runs: Run[] = [];
  for (let nth = 0; nth + length <= worth.length; nth++) {
    const row = worth.slice(nth, nth + length);
    if (row.every(({ bare }) => lines.has(bare)))
      runs.push({ key: row.map(({ bare }) => bare).join('\n'), at: row[0]?.at ?? 0, nth });
  }
  return runs;
}

test('runs of known lines are found wherever they stand, however they are indented and quoted', () => {
  const piece = fc.constantFrom(
    'one',
    'two()',
    '日本',
    'é',
    '12',
    ' ',
    '"',
    '\\',
    '}',
    '+',
    '\n',
    '\r',
    '\u0001',
    '\u00a0',
    'on',
  );
  const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(''));
  const lines = new Set(['one', 'two', '日本', 'é', 'one12', 'oneone'].map(bareOf));
  const find = knownLines(lines, 2);
  fc.assert(
    fc.property(text, (one) => {
      expect(find(Buffer.from(one))).toEqual(told(one, lines, 2));
    }),
    { numRuns: 3000 },
  );
});

test('lines with the same letters in another order, or with other signs between, are others', () => {
  const find = knownLines(new Set(['a=1', 'b=2']), 2);
  expect(find(Buffer.from('a=1\nb=2\n'))).toHaveLength(1);
  expect(find(Buffer.from('a=1\nb=3\n'))).toEqual([]);
  expect(find(Buffer.from('a=1\na-b\nb=2\n'))).toEqual([]);
});
