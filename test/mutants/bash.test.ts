import { expect, test } from 'vitest';
import { described } from './support.ts';

test.for<[string, string[]]>([
  ['rm "$a"', ['statement: rm "$a" → :']],
  ['echo a >&2', ['statement: echo a → :']],
  ['exit 1', ['statement: exit 1 → :', 'number: 1 → 2']],
  ['if [ "$a" = b ]; then :; fi', ['condition: [ "$a" = b ] → false', 'condition: [ "$a" = b ] → true']],
  [
    '[[ $a == b ]] || c',
    ['logic: [[ $a == b ]] ||  → nothing', 'comparison: == → !=', 'logic:  || c → nothing'],
  ],
  [
    '[ $# -gt 2 ] && a',
    [
      'logic: [ $# -gt 2 ] &&  → nothing',
      'boundary: -gt → -ge',
      'comparison: -gt → -le',
      'number: 2 → 3',
      'logic:  && a → nothing',
    ],
  ],
  ['if ! a; then :; fi', ['condition: ! a → false', 'condition: ! a → true']],
  ['while a; do :; done', ['condition: a → false']],
  ['[[ -z $a ]] && b', ['logic: [[ -z $a ]] &&  → nothing', 'comparison: -z → -n', 'logic:  && b → nothing']],
  ['x=$((a + 1))', ['arithmetic: + → -', 'number: 1 → 2']],
  ['x="a $b c"', ['template: a  → nothing', 'template:  c → nothing']],
  ["x='a'", ['string: a → nothing']],
  ["printf '%s: a\\n' b", ["statement: printf '%s: a\\n' b → :", 'template: : a\\n → nothing']],
  ['x=true', ['boolean: true → false']],
  ['a | b', ['statement: a | b → :', 'call:  | b → nothing']],
  [
    '[[ $a =~ ^[^b]+ ]] && c',
    [
      'logic: [[ $a =~ ^[^b]+ ]] &&  → nothing',
      'regex anchor: ^ → nothing',
      'regex class: ^ → nothing',
      'regex quantifier: + → nothing',
      'logic:  && c → nothing',
    ],
  ],
])('%s is mutated where its behaviour can be seen', async ([text, expected]) => {
  expect(await described('a.sh', text)).toEqual(expected.map((one) => `1 ${one}`));
});

test('the text of a here document is mutated, its end is not', async () => {
  expect(await described('a.sh', 'cat <<EOF\na ${b}\nc\nEOF\n')).toEqual([
    '1 statement: cat → :',
    '2 template: a  → nothing',
    '3 template: ⏎c → nothing',
  ]);
});

test.for(['# 1', 'set -euo pipefail', '. "./a.sh"', 'trap "rm b" EXIT', 'shift', 'x=$1', ':'])(
  '%s has no mutants',
  async (text) => {
    expect(await described('a.sh', text)).toEqual([]);
  },
);
