import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readJavaScript } from '../../src/planner/javascript.ts';

describe('valid JavaScript', () => {
  test.for([
    '',
    'let a = 1; console.log(a)',
    '#!/usr/bin/env node\n1',
    'import fs from "fs"; fs.x()',
    'import d, { e as f, "g-h" as i, } from "q"; f(i, d)',
    'import d, * as all from "q"',
    'import {} from "q"',
    'import "q"',
    'import a from "b" with { type: "json" }\na()',
    'import{readFileSync}from"fs";readFileSync("a")',
    'export * from "z"; export * as n from "z"; export { a as default, b } from "z"',
    'let a; export { a, }\na = 1',
    'export default () => 1',
    'export default async function () {}\nfoo()',
    'export default class { static a = 1 }',
    'export default class A {}\nnew A()',
    'export const a = 1, b = 2; export function c() {} export class D {}\nexport async function e() {}',
    'console.log(import.meta.url)',
    'for await (const x of y()) { z(x) }',
    'await import("./x.js")',
    'const r = /[/"`]\\/import/g.test("a") / b / c; await r',
    'await `a${`b${c}` + "}"}d`',
    'a.export; a.import; let b = { import: 1, export: 2 }; await b',
    '#!/usr/bin/env node\nimport "fs"',
    'import a from "b"; a.return(); a?.return()',
    'a()\nexport const b = 1\nconst c = [b]\nimport d from "d"\nlet e = 1; e++\nexport { e }',
    'if (a) { await b }\n[1].map((x) => { return x })',
  ])('%j', (source) => expect(readJavaScript(source, 'either').problem).toBeUndefined());
});

describe('invalid JavaScript, with line and column', () => {
  test.for([
    ['(', 'Unexpected token (1:1)'],
    ['1\nlet a; let a', "Identifier 'a' has already been declared (2:11)"],
    ['return 1', "'return' outside of function (1:0)"],
    ['const x: number = 1', 'Unexpected token (1:7)'],
    ['import x from "y"; let a\n\nlet a', "Identifier 'a' has already been declared (3:4)"],
    ['import { a from "b"', 'Unexpected token (1:11)'],
    ['import type A from "b"', 'Unexpected token (1:12)'],
    ['export a', 'Unexpected token (1:7)'],
    ['export { a }', "Export 'a' is not defined (1:9)"],
    ['export default 1; export default 2', "Duplicate export 'default' (1:25)"],
    ['await x; return 1', "'return' outside of function (1:9)"],
    ['"abc', 'Unterminated string constant (1:0)'],
    ['let x = `${`', 'Unterminated template literal (1:12)'],
    ['['.repeat(100_000), 'brackets are nested deeper than 200 levels'],
    ['!'.repeat(100_000), 'Not enough stack space to parse input (1:'],
  ] as const)('%j', ([source, why]) => expect(readJavaScript(source, 'either').problem).toContain(why));
});

test('a program is parsed as --input-type says', () => {
  expect(readJavaScript('await 1', 'commonjs').problem).toBeDefined();
  expect(readJavaScript('await 1', 'module').problem).toBeUndefined();
  expect(readJavaScript('with (a) {}', 'module').problem).toContain('strict mode');
  expect(readJavaScript('with (a) {}', 'commonjs').problem).toBeUndefined();
});

test.for([
  ['require("a"); require(\'b\', c)', ['require a', 'require b']],
  ['import("a"); x(import("b", { with: {} }))', ['import a', 'import b']],
  ['import a, { from } from "b"; export { from } from "c"; export * from "d"; import "e"', 'bcde'],
  ['require(a + "b"); require("a" + b); require(`c`); x.require("d"); x.import("e")', []],
  ['// require("a")\n/* require("b") */ "require(\'c\')"; `require("d")`; /require("e")/', []],
  ['`${require("a")}${`${import("b")}`}`; require("c")', ['require a', 'import b', 'require c']],
  ['let from = 1; x = a / require("b") / c', ['require b']],
  ['const { from } = x; from\n"a"', []],
  ['from\n"a"', []],
  ['(', []],
] as const)('%j imports %j', ([source, expected]) => {
  const imports = readJavaScript(source, 'either').imports.map(({ name, how }) => `${how} ${name}`);
  expect(imports).toEqual(
    typeof expected === 'string' ? [...expected].map((name) => `import ${name}`) : expected,
  );
});

test('any text is parsed without a crash and not executed', () => {
  const pieces =
    '( ) [ ] { } ` ${ \' " / /* */ // \\ ; , . => = * import export default from as await return function class ' +
    'require("x") let a 1 #! \n \u2028 \ud800 with async meta';
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...pieces.split(' ')), { maxLength: 20 }),
      fc.constantFrom('either', 'module', 'commonjs'),
      (parts, kind) => {
        const { problem, imports } = readJavaScript(parts.join(' '), kind);
        if (problem !== undefined) expect(imports).toEqual([]);
      },
    ),
    { numRuns: 1000 },
  );
  expect(readJavaScript('globalThis.wasRun = true; await 1', 'either').problem).toBeUndefined();
  expect(readJavaScript('globalThis.wasRun = true', 'either').problem).toBeUndefined();
  expect('wasRun' in globalThis).toBe(false);
});
