import { expect, test } from 'vitest';
import { reachedBy } from '../../../src/core/policy/check-commands.ts';
import { changedChecks, type RewrittenFile } from '../../../src/core/policy/kept-checks.ts';

const js = [
  'import { test } from "node:test";',
  'import assert from "node:assert/strict";',
  'import { add } from "../src/add.js";',
  'const same = (a, b) => assert.equal(a, b);',
  'test("adds", () => {',
  '  same(add(2, 3), 5);',
  '});',
  'test("adds more", () => { same(add(20, 3), 23); });',
  '',
].join('\n');
const py = [
  'import unittest',
  'from calc import add',
  'class T(unittest.TestCase):',
  '    def test_add(self):',
  '        self.assertEqual(add(2, 3), 5)',
  '',
  '    def test_more(self):',
  '        self.assertEqual(add(20, 3), 23)',
  '',
].join('\n');
const go = 'package p\n\nfunc TestAdd(t *testing.T) {\n\tif Add(2, 3) != 5 {\n\t\tt.Fatal()\n\t}\n}\n';
const nested = 'describe("add", () => {\n  it("adds", () => {\n    expect(add(1, 2)).toBe(3);\n  });\n});\n';
const pkg = (scripts: object, more: object = {}) => JSON.stringify({ name: 'p', scripts, ...more });

const verify = ['npm test', 'bash run.sh'];
const accept = ['bash check.sh', 'bash tool.sh 1 2'];

type Row = readonly [title: string, ...RewrittenFile[]];
const file = (path: string, before: string | undefined, after: string): RewrittenFile => ({
  path,
  before,
  after,
});
const a = 'test/add.test.js';
const b = 'tests/test_calc.py';

const lostIn = async (
  changes: readonly RewrittenFile[],
  promised: readonly string[] = [],
): Promise<string[]> => {
  const texts = new Map([['package.json', pkg({ test: 'node --test' })]]);
  const read = async () => '';
  const run = {
    paths: new Set([a, b, 'calc.py', 'src/add.js', 'package.json']),
    reached: await reachedBy([...verify, ...accept], texts, read),
    direct: await reachedBy(verify, texts, read),
  };
  return changedChecks(changes, run, (path) => promised.includes(path)).map(({ path }) => path);
};

test.for<Row>([
  ['an empty file', file(a, js, '')],
  ['fewer tests', file(a, js, js.replace(/test\("adds more".*\n/, ''))],
  [
    'tests with empty bodies',
    file(a, js, 'import { test } from "node:test"; test("adds",()=>{}); test("adds more",()=>{});\n'),
  ],
  ['a body that asserts nothing', file(a, js, js.replace('same(add(2, 3), 5)', 'add(2, 3)'))],
  ['another expected value', file(a, js, js.replace('23)', '17)'))],
  ['a skipped test', file(a, js, js.replace('test("adds",', 'test.skip("adds",'))],
  ['an early return', file(a, js, js.replace('  same(add(2, 3)', '  return;\n  same(add(2, 3)'))],
  ['tests in a comment', file(a, js, `/*\n${js}*/\n`)],
  ['a helper that no longer asserts', file(a, js, js.replace('assert.equal(a, b);', 'true;'))],
  [
    'a product that is no longer imported',
    file(a, js, js.replace(/import \{ add \}.*/, 'const add = (a, b) => a + b;')),
  ],
  [
    'an assertion library of its own',
    file(a, js, js.replace(/import assert.*/, 'const assert = { equal() {} };')),
  ],
  ['a Python test that passes', file(b, py, py.replace('self.assertEqual(add(2, 3), 5)', 'pass'))],
  [
    'a skipped Python test',
    file(b, py, py.replace('    def test_more', '    @unittest.skip("x")\n    def test_more')),
  ],
  ['a Go test without its condition', file('p/add_test.go', go, go.replace('Add(2, 3) != 5', 'false'))],
  ['a nested test', file('src/add.spec.ts', nested, nested.replace('toBe(3)', 'toBeDefined()'))],
  [
    'a test of Rust among the code',
    file('src/lib.rs', '#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n', 'fn x() {}\n'),
  ],
  ['a script that verification runs', file('run.sh', 'exit 1\n', 'exit 0\n')],
  ['a check that acceptance runs', file('check.sh', 'exit 1\n', 'exit 0\n')],
  ['the test script', file('package.json', pkg({ test: 'node --test' }), pkg({ test: 'exit 0' }))],
  [
    'a hook of the test script',
    file('package.json', pkg({ test: 'x' }), pkg({ test: 'x', pretest: 'sh y.sh' })),
  ],
  [
    'settings of the runner',
    file('package.json', pkg({}, { jest: { bail: 1 } }), pkg({}, { jest: { testMatch: [] } })),
  ],
  ['settings of pytest', file('pytest.ini', '[pytest]\n', '[pytest]\naddopts = --collect-only\n')],
  ['a program that npm finds first', file('node_modules/.bin/node', undefined, '#!/bin/sh\nexit 0\n')],
  ['an installed runner', file('node_modules/vitest/index.js', undefined, 'x')],
  ['a module in place of the runner', file('unittest.py', undefined, 'x = 1\n')],
])('an order that did not say so may not leave %s', async ([, ...changes]) => {
  expect(await lostIn(changes)).toEqual([changes[0]?.path]);
  expect(await lostIn(changes, [changes[0]?.path ?? ''])).toEqual([]);
});

test.for<Row>([
  ['replaces assertions', file('src/add.js', 'x', 'import a from "node:assert";\na.equal = () => {};\n')],
  ['ends its runner', file('calc.py', undefined, 'import os\nos._exit(0)\n')],
])('an order may not leave a product that %s, promised or not', async ([, ...changes]) => {
  expect(await lostIn(changes)).toEqual([changes[0]?.path]);
  expect(await lostIn(changes, [changes[0]?.path ?? ''])).toEqual([changes[0]?.path]);
});

test.for<Row>([
  ['add tests', file(a, js, `${js}test("zero", () => { same(add(0, 0), 0); });\n`)],
  [
    'add tests between others',
    file(
      a,
      js,
      js.replace('test("adds more"', 'test("none", () => {\n  same(add(0, 0), 0);\n});\ntest("adds more"'),
    ),
  ],
  [
    'import more for new tests',
    file(a, js, `${js.replace('{ add }', '{ add, sub }')}test("subs", () => { same(sub(2, 1), 1); });\n`),
  ],
  ['indent tests anew', file(a, js, js.replace('  same(add(2', '    same(add(2'))],
  [
    'add a method to a Python class',
    file(b, py, `${py}\n    def test_zero(self):\n        self.assertEqual(add(0, 0), 0)\n`),
  ],
  [
    'add a test within a group',
    file(
      'src/add.spec.ts',
      nested,
      nested.replace('  });\n});', '  });\n  it("more", () => { expect(add(2, 2)).toBe(4); });\n});'),
    ),
  ],
  ['move tests to another file', file(a, js, 'export {};\n'), file('test/sum.test.js', undefined, js)],
  ['create a test file', file('test/new.test.js', undefined, js)],
  ['create a check', file('scripts/check.sh', undefined, 'exit 0\n')],
  ['create the script that verifies', file('scripts/verify.sh', undefined, 'npm test\n')],
  [
    'change a helper of the tests',
    file('test/support.js', 'export const one = 1;\n', 'export const two = 2;\n'),
  ],
  ['change a script that is the product', file('tool.sh', 'echo 1\n', 'echo 2\n')],
  ['change the product', file('src/add.js', 'x', 'y')],
  [
    'add a script to package.json',
    file('package.json', pkg({ test: 'x' }), pkg({ test: 'x', start: 'y' }, { version: '2' })),
  ],
  ['drop an import that nothing uses', file(a, `import x from "x";\n${js}`, js)],
  ['write a file as it was', file('check.sh', 'exit 1\n', 'exit 1\n')],
])('any order may %s', async ([, ...changes]) => {
  expect(await lostIn(changes)).toEqual([]);
});
