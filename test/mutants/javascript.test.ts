import { expect, test } from 'vitest';
import { described } from './support.ts';

test.for<[string, string[]]>([
  ['x = a + b;', ['statement: x = a + b; → ;', 'arithmetic: + → -']],
  ["x = 'a' + b + c;", ["statement: x = 'a' + b + c; → ;", 'string: a → nothing']],
  ['let x = a < b;', ['boundary: < → <=', 'comparison: < → >=']],
  ['let x = a === b;', ['comparison: === → !==']],
  ['let x = a && b;', ['logic: a &&  → nothing', 'logic:  && b → nothing']],
  ['let x = a ?? b;', ['logic: a ??  → nothing', 'logic:  ?? b → nothing']],
  ['let x = a || b || c;', ['logic: a ||  → nothing', 'logic: b ||  → nothing', 'logic:  || c → nothing']],
  ['if (a === b) {}', ['condition: a === b → false', 'condition: a === b → true']],
  ['if (a && b) {}', ['logic: a &&  → nothing', 'condition: a && b → false', 'logic:  && b → nothing']],
  ['if (a || b) {}', ['logic: a ||  → nothing', 'condition: a || b → true', 'logic:  || b → nothing']],
  ['let x = !a;', ['negation: !a → a']],
  ['let x = -a;', ['arithmetic: -a → a']],
  ['while (a) {}', ['condition: a → false']],
  ['for (let i = 0; i < n; i++) {}', ['number: 0 → 1', 'condition: i < n → false', 'boundary: < → <=']],
  ['let x = a ? b : c;', ['condition: a → false', 'condition: a → true']],
  [
    'let x = [0, 9, 1.5, 0x1f, 1_0n];',
    ['number: 0 → 1', 'number: 9 → 10', 'number: 1.5 → 0.0', 'number: 0x1f → 0', 'number: 1_0n → 11n'],
  ],
  ["let x = ['a', ''];", ['string: a → nothing', 'string: nothing → mutant']],
  ['let x = `a${b}c`;', ['template: a → nothing', 'template: c → nothing']],
  ['let x = `a`;', ['string: a → nothing']],
  ['let x = true;', ['boolean: true → false']],
  ['f(a);', ['statement: f(a); → ;']],
  [
    'if (a) f(); else g();',
    ['condition: a → false', 'condition: a → true', 'statement: f(); → {}', 'statement: g(); → {}'],
  ],
  ['i++;', ['statement: i++; → ;', 'assignment: ++ → --']],
  ['x += y;', ['statement: x += y; → ;', 'assignment: += → -=']],
  ['throw a;', ['statement: throw a; → ;']],
  ['for (const a of b) { continue; }', ['statement: continue; → ;']],
  ['let x = a.trim().length;', ['call: a.trim() → a']],
  ['let x = a.some(b);', ['call: some → every']],
  ['let x = Math.min(a, b);', ['call: min → max']],
  ['function f() { return a; }', ['return: a → undefined']],
  ['let x = () => a;', ['return: a → undefined']],
  [
    'let x = /^[^a]+\\S$/;',
    [
      'regex anchor: ^ → nothing',
      'regex class: ^ → nothing',
      'regex quantifier: + → nothing',
      'regex class: S → s',
      'regex anchor: $ → nothing',
    ],
  ],
  ["let x = new RegExp('\\\\D');", ['string: \\\\D → nothing', 'regex class: D → d']],
  ['let x = <b className="c">d {e}</b>;', ['template: d  → nothing']],
])('%s is mutated where its behaviour can be seen', async ([text, expected]) => {
  expect(await described('a.js', text)).toEqual(expected.map((one) => `1 ${one}`));
});

test.for([
  '// 1 + 2',
  "'use strict';",
  "import a from 'b';",
  "export * from 'b';",
  "let a = require('b');",
  "let a = await import('b');",
  "console.debug('a', 1);",
  'class A extends B { constructor() { super(); } }',
  'for (;;) { break; }',
  'function f() { return undefined; }',
])('%s has no mutants', async (text) => {
  expect(await described('a.js', text)).toEqual([]);
});

test.for<[string, string[]]>([
  ["type A = 'a' | 1;", []],
  ["interface A { a: 'a'; b(c: 1): 2 }", []],
  ['declare const a: 1;', []],
  ["import type { A } from 'a';", []],
  ['const enum A { B = 1 }', ['number: 1 → 2']],
  ["let a = b as 'c';", []],
  ["let a = b satisfies 'c';", []],
  ["let a = f<'b'>(c);", []],
  ["let a: 'b' | 2 = 1;", ['number: 1 → 2']],
  ["function f(a: 'b', c = 1): a is 'b' { return c; }", ['number: 1 → 2', 'return: c → void (c) as never']],
  [
    "if (typeof a === 'string') {}",
    [
      "condition: typeof a === 'string' → typeof a === 'string' && !1",
      "condition: typeof a === 'string' → typeof a === 'string' || !0",
    ],
  ],
  [
    'if (a ?? b) c();',
    [
      'logic: a ??  → nothing',
      'condition: a ?? b → (a ?? b) && !1',
      'condition: a ?? b → (a ?? b) || !0',
      'logic:  ?? b → !',
      'statement: c(); → {}',
    ],
  ],
  ["let a = b === 'c';", ['comparison: === → !==']],
  ["f('a', b);", ["statement: f('a', b); → ;", "string: 'a' → '' as never"]],
  ["let a = { 'b': 'c' };", ['string: b → nothing', "string: 'c' → '' as never"]],
  ["switch (a) { case 'b': }", ["string: 'b' → '' as never"]],
  ['function f() { return (a, b); }', ['return: (a, b) → void (a, b) as never']],
  [
    'function f() { return (a) && b; }',
    ['logic: (a) &&  → nothing', 'return: (a) && b → void ((a) && b) as never', 'logic:  && b → nothing'],
  ],
  ['let f = () => (b) => c;', ['return: (b) => c → undefined as never', 'return: c → void (c) as never']],
  ['let f = () => ({ a });', ['return: ({ a }) → void ({ a }) as never']],
])('%s in TypeScript is mutated where it is more than a type', async ([text, expected]) => {
  expect(await described('a.ts', text)).toEqual(expected.map((one) => `1 ${one}`));
});
