import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Dialect, readShell } from '../../src/policy/shell.ts';

/** Each command as its words, then its redirection targets and stand-ins after `<>`, then its inputs after `<<`. */
function commands(text: string, dialect: Dialect = 'bash'): string[][] {
  return readShell(text, dialect).commands.map(({ words, others, inputs }) => [
    ...words.map((word) => word.text),
    ...(others.length > 0 ? ['<>', ...others.map((word) => word.text)] : []),
    ...(inputs.length > 0 ? ['<<', ...inputs] : []),
  ]);
}

test.for<[text: string, read: string[][]]>([
  ['', []],
  ['echo a  b\tc', [['echo', 'a', 'b', 'c']]],
  ['a;b&c&&d||e|f\ng', [['a'], ['b'], ['c'], ['d'], ['e'], ['f'], ['g']]],
  ['(a; (b)) c', [['a'], ['b'], ['c']]],
  ['if a; then b; fi', [['if', 'a'], ['then', 'b'], ['fi']]],
  [`a'b'"c"\\d`, [['abcd']]],
  [`echo "a'b" 'c"d'`, [['echo', "a'b", 'c"d']]],
  ['echo "\\$x \\a \\\\"', [['echo', '$x \\a \\']]],
  ['echo a\\\nb \\\n c', [['echo', 'ab', 'c']]],
  [`echo "a\\\nb"`, [['echo', 'ab']]],
  ['echo a # b\nc#d', [['echo', 'a'], ['c#d']]],
  ['a >x 2>y <z', [['a', '<>', 'x', 'y', 'z']]],
  ['a 2>&1 >/dev/null', [['a', '<>', '1', '/dev/null']]],
  ['a &>x >| y >> z <>w', [['a', '<>', 'x', 'y', 'z', 'w']]],
  ["a >'x y'z", [['a', '<>', 'x yz']]],
  ['a2>x', [['a2', '<>', 'x']]],
  ['A=1 B="x y" c', [['A=1', 'B=x y', 'c']]],
  [
    'echo $(a b) `c d`',
    [
      ['a', 'b'],
      ['c', 'd'],
      ['echo', '$(a b)', '`c d`'],
    ],
  ],
  [
    'echo "$(a "b)")"',
    [
      ['a', 'b)'],
      ['echo', '$(a "b)")'],
    ],
  ],
  ['echo "`a \\`b\\``"', [['b'], ['a', '`b`'], ['echo', '`a \\`b\\``']]],
  ['diff <(a) >(b)', [['a'], ['b'], ['diff']]],
  ['echo $((1 / 2)) $((a+$(b)))', [['b'], ['echo', '$((1 / 2))', '$((a+$(b)))']]],
  ['((a << $(b)))\nc', [['b'], ['c']]],
  ['a <<E <(b\nc\n) d\nx\nE', [['b'], ['c'], ['a', 'd', '<<', 'x']]],
  ['a <((b)) d', [['b'], ['a', 'd']]],
  ['echo $((a) ; b)', [['a'], ['b'], ['echo', '$((a) ; b)']]],
  ["echo $((a; '))' ) )", [['a'], ['))'], ['echo', "$((a; '))' ) )"]]],
  ["((a '(' ) ; b )", [['a', '('], ['b']]],
  ['echo $((1 + \\(\\( ))\nb\n))', [['echo', '$((1 + \\(\\( ))'], ['b']]],
  ['$((1 << $(a # )))\n) ))', [['a'], ['$((1 << $(a # )))\n) ))']]],
  ["echo '2'>x", [['echo', '2', '<>', 'x']]],
  ["'if' case x in a) b", [['if', 'case', 'x', 'in', 'a'], ['b']]],
  ['echo $(echo case) $(esac) b', [['echo', 'case'], ['esac'], ['echo', '$(echo case)', '$(esac)', 'b']]],
  [
    'echo "`a \\"b\\"`"',
    [
      ['a', 'b'],
      ['echo', '`a \\"b\\"`'],
    ],
  ],
  ['${x:-a b}', [['<>', 'a b', 'a', 'b'], ['${x:-a b}']]],
  ['${x#a/} ${x%/*}', [['${x#a/}', '${x%/*}']]],
  [
    `"\${x:-'}" b`,
    [
      ['<>', "'", "'"],
      [`\${x:-'}`, 'b'],
    ],
  ],
  [
    '$(case x in a) b;; (c) d;; esac) e',
    [['case', 'x', 'in', 'a'], ['b'], ['c'], ['d'], ['esac'], ['$(case x in a) b;; (c) d;; esac)', 'e']],
  ],
  ['"$(case x in esac)"; b', [['case', 'x', 'in', 'esac'], ['$(case x in esac)'], ['b']]],
  ['cat <<E >x\nbody\nE\nb', [['cat', '<>', 'x', '<<', 'body'], ['b']]],
  ["cat <<'E'\n$(a)\nE", [['cat', '<<', '$(a)']]],
  ['cat <<E\n$(a) `b` "\nE\nc', [['cat', '<<', '$(a) `b` "'], ['a'], ['b'], ['c']]],
  ['cat <<E\n\tE\nx\nE\nb', [['cat', '<<', '\tE\nx'], ['b']]],
  ['cat <<\\E\n$(a)\nE', [['cat', '<<', '$(a)']]],
  ['a $(b <<E)\nx\nE\nc', [['b', '<<', 'x'], ['a', '$(b <<E)'], ['c']]],
  ['cat <<-E\n\tx\n\tE\nb', [['cat', '<<', 'x'], ['b']]],
  ['a <<X <<Y\n1\nX\n2\nY\nb', [['a', '<<', '1', '2'], ['b']]],
  ['cat <<E\nnever closed', [['cat', '<<', 'never closed']]],
  ['a <<< "b c"', [['a', '<>', 'b c', '<<', 'b c']]],
  ["$'a\\x2fb\\n\\'c' $\"d\"", [["a/b\n'c", 'd']]],
  ["echo 'a", [['echo', 'a']]],
  ['echo "a $(b', [['b'], ['echo', 'a $(b']]],
  ['a \\', [['a', '\\']]],
])('%j is read', ([text, read]) => {
  expect(commands(text)).toEqual(read);
});

test("shells without `$'…'` see a dollar and a quote", () => {
  expect(commands("echo $'a\\' b", 'posix')).toEqual([['echo', '$a\\', 'b']]);
});

test('variables are named where a shell expands them, and only there', () => {
  const variables = (text: string) =>
    readShell(text, 'bash').commands.flatMap(({ words }) => words.flatMap((word) => word.variables));
  expect(variables(`echo $A "\${B:-$C}" \${#D} $1 $? '$E' \\$F "\\$G"`)).toEqual([
    'A',
    'B',
    'C',
    'D',
    '1',
    '?',
  ]);
});

test('nesting beyond all reason is said, not followed', () => {
  for (const open of ['$(', '"$(', '${x:-', '"${x:-', '$((', '(', '<(', 'case x in a) ']) {
    const read = readShell(`echo ${open.repeat(20_000)}`, 'bash');
    expect(read.tooDeep, open).toBe(/^["$<]/.test(open));
  }
});

test('any number of here-documents may wait before a substitution', () => {
  const read = readShell(`cat ${'<<E '.repeat(200_000)}$(a\n)`, 'bash');
  expect(read.commands.map(({ inputs }) => inputs.length)).toEqual([0, 200_000]);
});

test('any text is read without a throw, and the words come from the text', () => {
  const piece = fc.constantFrom(
    ...[
      "'",
      '"',
      '\\',
      '`',
      '$',
      '$(',
      '$((',
      '${',
      '}',
      ')',
      '(',
      '<<E',
      '\nE\n',
      '<',
      '>',
      ';',
      '&',
      '|',
      '#',
    ],
    ...[' ', '\n', 'a', '/x', '..', '=', 'case ', ' in ', 'esac', "$'", '{', ',', ':-', '2', '\r', '\0', 'é'],
  );
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 40 }),
      fc.constantFrom<Dialect>('bash', 'posix'),
      (pieces, dialect) => {
        const text = pieces.join('');
        const { commands } = readShell(text, dialect);
        for (const { words } of commands)
          for (const { text: word } of words) expect(word.length).toBeLessThanOrEqual(text.length);
      },
    ),
    { numRuns: 2000 },
  );
});

test('a word in quotes is one word wherever it stands', () => {
  const safe = fc.string({
    unit: fc.constantFrom('a', '/', ' ', '..', '~', ';', '$(x)', '"', '>', '\n', '#'),
  });
  fc.assert(
    fc.property(safe, fc.constantFrom('', 'if ', '(', 'x | ', 'y=$(', '{ '), (word, before) => {
      const read = readShell(`${before}echo '${word}' z`, 'bash').commands.at(before.includes('$') ? 0 : -1);
      expect(read?.words.slice(-2).map(({ text }) => text)).toEqual([word, 'z']);
    }),
  );
});
