import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { quoteWord, splitWords } from '../../../src/core/policy/words.ts';

test.for<[text: string, words: string[]]>([
  ['', []],
  [' \t\r\n ', []],
  ['go test ./...', ['go', 'test', './...']],
  ['a\tb\r\nc', ['a', 'b', 'c']],
  ["''", ['']],
  [`echo "" ''`, ['echo', '', '']],
  ['echo a"b c"d', ['echo', 'ab cd']],
  [`a'b'"c"\\d`, ['abcd']],
  ['test -f my\\ file', ['test', '-f', 'my file']],
  [`echo 'a\\b'`, ['echo', 'a\\b']],
  [`echo "a\\"b\\\\c"`, ['echo', 'a"b\\c']],
  [`echo "\\n\\$x\\\`"`, ['echo', '\\n\\$x\\`']],
  ['a\\\nb', ['a\nb']],
  ['true # a | b', ['true', '#', 'a', '|', 'b']],
  ['echo $HOME *.txt ~', ['echo', '$HOME', '*.txt', '~']],
  ['echo a\u00a0b\fc\vd', ['echo', 'a\u00a0b\fc\vd']],
  [`'a\nb'`, ['a\nb']],
  ['\\\\', ['\\']],
])('%j is split into %j', ([text, words]) => {
  expect(splitWords(text)).toEqual({ words });
});

test.for<[text: string, at: number]>([
  ["echo 'x", 5],
  ['echo "x', 5],
  ['echo x\\', 6],
  ["bash scripts/verify.sh '", 23],
  [`echo "a\\"`, 5],
  [`a 'b' "c' d`, 6],
])('%j cannot be split, and the place at fault is named', ([text, at]) => {
  expect(splitWords(text)).toMatchObject({ problem: expect.stringMatching(/quote|backslash/), at });
});

test('splitting a quoted text returns the text', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' })), (texts) => {
      expect(splitWords(texts.map(quoteWord).join(' '))).toEqual({ words: texts });
    }),
  );
});

test('splitting never throws, and no separator stays outside quotes', () => {
  const text = fc.string({ unit: fc.constantFrom("'", '"', '\\', ' ', '\n', 'a', '$', '#', '|') });
  fc.assert(
    fc.property(text, (command) => {
      const split = splitWords(command);
      if ('problem' in split) expect(command[split.at]).toMatch(/['"\\]/);
      else expect(splitWords(split.words.map(quoteWord).join('\t'))).toEqual(split);
    }),
  );
});

test('a shell reads a quoted text as that text', () => {
  const texts = [
    '',
    ' ',
    "it's",
    '"',
    '\\',
    '$HOME',
    '`id`',
    '$(id)',
    '*',
    '~',
    '#x',
    'a=b',
    'a\nb',
    '!x',
    '{a,b}',
    'é✓',
    'a;b|c&d>e<f',
    '-n',
  ];
  const { stdout } = spawnSync('sh', ['-c', `printf '%s\\0' ${texts.map(quoteWord).join(' ')}`], {
    encoding: 'utf8',
  });
  expect(stdout.split('\0').slice(0, -1)).toEqual(texts);
});

test.for<[text: string, quoted: string]>([
  ['src/a-b_1.txt', 'src/a-b_1.txt'],
  ['', "''"],
  ['a b', "'a b'"],
  ['a=b', 'a=b'],
  ['=b', "'=b'"],
  ["it's", "'it'\\''s'"],
])('%j is quoted as %s', ([text, quoted]) => {
  expect(quoteWord(text)).toBe(quoted);
});
