import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readShell } from '../../../src/core/policy/shell.ts';

/** Each command as its words, then its redirection targets after `<>`. */
function commands(text: string): string[][] {
  return readShell(text).commands.map(({ words, targets }) => [
    ...words.map((word) => word.text),
    ...(targets.length > 0 ? ['<>', ...targets.map((word) => word.text)] : []),
  ]);
}

test.for<[text: string, read: string[][]]>([
  ['', []],
  ['echo a  b\tc', [['echo', 'a', 'b', 'c']]],
  ['a;b&c&&d||e|f\ng', [['a'], ['b'], ['c'], ['d'], ['e'], ['f'], ['g']]],
  ['(a; (b) c) >d', [['a'], ['b'], ['c'], ['<>', 'd']]],
  ['if a; then b; fi', [['if', 'a'], ['then', 'b'], ['fi']]],
  [`a'b'"c"\\d`, [['abcd']]],
  [`echo "a'b" 'c"d'`, [['echo', "a'b", 'c"d']]],
  ['echo "\\$x \\a \\\\"', [['echo', '$x \\a \\']]],
  ['echo a\\\nb \\\n c "d\\\ne"', [['echo', 'ab', 'c', 'de']]],
  ['echo a # b\nc#d', [['echo', 'a'], ['c#d']]],
  ['a >x 2>y <z', [['a', '<>', 'x', 'y', 'z']]],
  ['a 2>&1 >/dev/null', [['a', '<>', '/dev/null']]],
  ['a &>x >| y >> z <>w >&v', [['a', '<>', 'x', 'y', 'z', 'w', 'v']]],
  ["a >'x y'z a2>b '2'>c", [['a', 'a2', '2', '<>', 'x yz', 'b', 'c']]],
  ['A=1 B="x y" c', [['A=1', 'B=x y', 'c']]],
  [
    'echo $(a b) `c d`',
    [
      ['a', 'b'],
      ['c', 'd'],
      ['echo', '$()', '$()'],
    ],
  ],
  [
    'echo "$(a "b)")/x"',
    [
      ['a', 'b)'],
      ['echo', '$()/x'],
    ],
  ],
  ['diff <(a) >(b)', [['a'], ['b'], ['diff']]],
  ['echo $((10 / 2)) ${x%% /*} "${y:-a b}"', [['echo', '$()', '${}', '${}']]],
  ['echo $((a) | b)', [['a'], ['b'], ['echo', '$()']]],
  ['case x in a) b;; esac', [['case', 'x', 'in', 'a'], ['b'], ['esac']]],
  ['cat <<E >x\n/body "\nE\nb', [['cat', '<>', 'E', 'x'], ['b']]],
  ["cat <<-'E' <<F\n\tx\n\tE\n1\nF\nb", [['cat', '<>', 'E', 'F'], ['b']]],
  [
    '(( x = 1 << 2 ))\ncat a',
    [
      ['x', '=', '1', '<>', '2'],
      ['cat', 'a'],
    ],
  ],
  ['$\'a\' $"b"', [['a', 'b']]],
  ["echo 'a", [['echo', 'a']]],
  ['echo "a $(b', [['b'], ['echo', 'a $()']]],
  ['a \\', [['a', '\\']]],
])('%j is read', ([text, read]) => {
  expect(commands(text)).toEqual(read);
});

test('a command whose output goes into a pipe is marked', () => {
  const read = readShell('a | b || c |& d; e').commands;
  expect(read.map(({ piped }) => piped)).toEqual([true, false, true, false, false]);
});

test('operators are returned as written, outside quotes only', () => {
  const { operators } = readShell(`a 2>&1 '>' "$(b | c)" >d;e\\&&f # g\n$(h) \`i\` $((1))`);
  expect(operators).toEqual(['2>&1', '>', ';', '&', '#', "a line's end", '$(', '`', '$((']);
});

test('a word has its unquoted part, and whether it expands HOME', () => {
  const [command] = readShell(`a'b c'\\d "$HOME/x" \${HOME} '$HOME' $HOMES`).commands;
  expect(command?.words.map(({ raw, bare, home }) => [raw, bare, home])).toEqual([
    ["a'b c'\\d", 'a\u0001\u0001', false],
    ['"$HOME/x"', '\u0001', true],
    ['${HOME}', '${}', true],
    ["'$HOME'", '\u0001', false],
    ['$HOMES', '$HOMES', false],
  ]);
});

test.for(['$(', '"$(', '${', '$((', '(', '`', '<<a\n', "'", 'a=', 'sh -c '])(
  'many repetitions of %j are read',
  (piece) => {
    expect(() => readShell(piece.repeat(20_000))).not.toThrow();
  },
);

test('reading throws for no text, and the words come from the text', () => {
  const piece = fc.constantFrom(
    ...["'", '"', '\\', '`', '$', '$(', '$((', '${', '}', ')', '(', '<<E', '\nE\n', '<', '>', ';', '&', '|'],
    ...['#', ' ', '\n', 'a', '/x', '..', '=', 'case ', ' in ', 'esac', "$'", '{', ',', ':-', '2', '\r', '\0'],
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const text = pieces.join('');
      for (const { words } of readShell(text).commands)
        for (const { raw } of words) expect(text.length).toBeGreaterThanOrEqual(raw.length);
    }),
    { numRuns: 2000 },
  );
});

test('a quoted word is one word at any position', () => {
  const safe = fc.string({
    unit: fc.constantFrom('a', '/', ' ', '..', '~', ';', '$(x)', '"', '>', '\n', '#'),
  });
  fc.assert(
    fc.property(safe, fc.constantFrom('', 'if ', '(', 'x | ', 'y=$(', '{ '), (word, before) => {
      const read = readShell(`${before}echo '${word}' z`).commands.at(before.includes('$') ? 0 : -1);
      expect(read?.words.slice(-2).map(({ text }) => text)).toEqual([word, 'z']);
    }),
  );
});
