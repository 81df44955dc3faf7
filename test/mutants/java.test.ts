import { expect, test } from 'vitest';
import { described } from './support.ts';

const inMethod = (body: string, type = 'int'): string => `class A {\n${type} f() {\n${body}\n}\n}\n`;

test.for<[string, string[]]>([
  ['int x = a + b;', ['arithmetic: + → -']],
  ['var x = "a" + b;', ['string: a → nothing']],
  ['var x = a >= b;', ['boundary: >= → >', 'comparison: >= → <']],
  ['if (a == b) {}', ['condition: a == b → a == b && false', 'condition: a == b → a == b || true']],
  [
    'if (a && b) {}',
    ['logic: a &&  → nothing', 'condition: a && b → a && b && false', 'logic:  && b → nothing'],
  ],
  ['while (!a) {}', ['condition: !a → !a && false']],
  [
    'for (int i = 0; i < n; i++) {}',
    ['number: 0 → 1', 'condition: i < n → i < n && false', 'boundary: < → <='],
  ],
  ['for (A a : b) { break; }', ['statement: break; → ;']],
  ['x -= 2L;', ['statement: x -= 2L; → ;', 'assignment: -= → +=', 'number: 2L → 3L']],
  ['throw a;', ['statement: throw a; → ;']],
  ['var x = """\n  a""";', ['string:   a → nothing']],
  ['var x = String.format("a %s b", c);', ['template: a  → nothing', 'template:  b → nothing']],
  ['var x = a.trim();', ['call: a.trim() → a']],
  ['var x = a.anyMatch(b);', ['call: anyMatch → allMatch']],
  [
    'var x = Pattern.compile("^\\\\D*");',
    [
      'regex anchor: ^ → nothing',
      'string: ^\\\\D* → nothing',
      'regex class: D → d',
      'regex quantifier: * → nothing',
    ],
  ],
])('%s is mutated where its behaviour can be seen', async ([text, expected]) => {
  const found = await described('a.java', inMethod(text));
  expect(found.map((one) => one.replace(/^\d+ /, ''))).toEqual(expected);
});

test.for([
  '// 1',
  'assert a : "b";',
  'LOG.debug("a");',
  '@SuppressWarnings("a") int x;',
  'while (true) { break; }'.replace('true', 'a()'),
  'return;',
])('%s has no mutants', async (text) => {
  const found = await described('a.java', inMethod(text));
  expect(found.filter((one) => !one.includes('condition'))).toEqual([]);
});

test.for([
  ['boolean', 'false'],
  ['double', '0'],
  ['String', 'null'],
])('nothing of type %s is %s', async ([type, nothing]) => {
  expect(await described('a.java', inMethod('return a;', type))).toEqual([`3 return: a → ${nothing}`]);
});
