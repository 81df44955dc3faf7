import { expect, test } from 'vitest';
import { described } from './support.ts';

test.for<[string, string[]]>([
  ['x = a + b', ['arithmetic: + → -']],
  ["x = 'a' + b", ['string: a → nothing']],
  ["x = 'a %s 100%%' % b", ['template: a  → nothing', 'template:  100%% → nothing']],
  ["x = 'a {b:>3} {{'.format(b=c)", ['template: a  → nothing', 'template:  {{ → nothing']],
  ['x = a < b <= c', ['boundary: < → <=', 'comparison: < → >=', 'boundary: <= → <', 'comparison: <= → >']],
  ['x = a is not b', ['comparison: is not → is']],
  ['x = a in b', ['comparison: in → not in']],
  ['x = a and b', ['logic: a and  → nothing', 'logic:  and b → nothing']],
  ['x = not a', ['negation: not a → a']],
  ['x = f"a{b:>10}c"', ['template: a → nothing', 'template: c → nothing']],
  ["x = ['a', '', b'''c''']", ['string: a → nothing', 'string: nothing → mutant', 'string: c → nothing']],
  ['x = True', ['boolean: True → False']],
  ['x = a if b else c', ['condition: b → False', 'condition: b → True']],
  ['x = [a for a in b if a]', ['condition: a → False', 'condition: a → True']],
  ['x = sorted(a, key=b)', ['call: sorted(a, key=b) → list(a)']],
  ['x = a.strip()', ['call: a.strip() → a']],
  ['f(a)', ['statement: f(a) → pass']],
  ['a.b = c', ['statement: a.b = c → pass']],
  ['x += 1', ['statement: x += 1 → pass', 'assignment: += → -=', 'number: 1 → 2']],
  ['raise E', ['statement: raise E → pass']],
  ['def f(): return a', ['return: a → None']],
  ['while a: continue', ['condition: a → False', 'statement: continue → pass']],
  [
    "x = re.match(r'^[^a]*\\D', b)",
    [
      'regex anchor: ^ → nothing',
      'string: ^[^a]*\\D → nothing',
      'regex class: ^ → nothing',
      'regex quantifier: * → nothing',
      'regex class: D → d',
    ],
  ],
])('%s is mutated where its behaviour can be seen', async ([text, expected]) => {
  expect(await described('a.py', text)).toEqual(expected.map((one) => `1 ${one}`));
});

test('a later value of a name may be left out, the first not', async () => {
  expect(await described('a.py', 'x = a\nx = b\nclass C:\n    y = a\n    y: int = b\n')).toEqual([
    '2 statement: x = b → pass',
  ]);
});

test.for([
  '# 1 + 2',
  '"""A docstring."""',
  'def f(a: "b") -> "c":\n    """A docstring."""',
  'import a.b',
  'from __future__ import annotations',
  "__all__ = ['a']",
  'assert a, "b"',
  'log.debug("a %s", 1)',
  'if TYPE_CHECKING:\n    a = 1',
  "T = TypeVar('T')",
])('%s has no mutants', async (text) => {
  expect(await described('a.py', text)).toEqual([]);
});

test('how a script is started is not mutated, what it then does is', async () => {
  expect(await described('a.py', "if __name__ == '__main__':\n    main()\n")).toEqual([
    '2 statement: main() → pass',
  ]);
});
