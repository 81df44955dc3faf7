/** Files that change what other tests check. */
import { expect, test } from 'vitest';
import { overriddenBy } from '../../../src/core/policy/test-overrides.ts';

const isOwn = (module: string) => /^(?:calc|shop\.cart|\.\.\/src\/.*)$/.test(module);
const by = (path: string, text: string, isTest = /test/.test(path)) =>
  overriddenBy(path, text, isTest, isOwn);

test.for<[string, string, string]>([
  [
    'sets a function of the assertions',
    'src/a.js',
    'import a from "node:assert/strict";\na.equal = () => {};\n',
  ],
  [
    'sets all of them',
    'test/z.test.js',
    'import assert from "assert"; for (const k in assert) assert[k] = () => {}',
  ],
  ['assigns to them', 'src/a.cjs', 'const a = require("assert"); Object.assign(a, { equal() {} });'],
  [
    'sets a named one',
    'src/a.js',
    'import { AssertionError as E } from "node:assert"; E.prototype.code = 1;',
  ],
  ['loads them later', 'src/a.js', 'const a = await import("node:assert"); a.default.equal = () => {};'],
  ['replaces the function test', 'src/a.js', 'globalThis.test = () => {};'],
  [
    'sets a method of unittest',
    'calc.py',
    'import unittest\nunittest.TestCase.assertEqual=lambda *a,**k:None\n',
  ],
  [
    'sets one of an imported class',
    'calc.py',
    'from unittest import TestCase\nsetattr(TestCase, "assertEqual", f)\n',
  ],
  ['finds it among the modules', 'calc.py', "import sys\nsys.modules['unittest'].TestCase.run = f\n"],
  ['sets builtins', 'calc.py', 'import builtins as b\nb.AssertionError = Warning\n'],
  ['decides which tests are loaded', 'tests/__init__.py', 'def load_tests(a, b, c):\n    return a\n'],
  ['imports that decision', 'tests/test_a.py', 'load_tests = other\n'],
  [
    'changes the collected tests',
    'tests/test_a.py',
    'def pytest_collection_modifyitems(items):\n    items[:] = []\n',
  ],
  ['replaces the product', 'tests/test_0.py', 'import sys\nsys.modules["calc"] = stub\n'],
  ['replaces its function', 'tests/test_0.py', 'import calc\ncalc.add = lambda a, b: a + b\n'],
  ['replaces one in a package', 'tests/test_0.py', 'from shop import cart\ncart.total = total\n'],
  ['removes another test', 'tests/test_0.py', 'import test_calc\ndel test_calc.T.test_add\n'],
  [
    'replaces another test',
    'tests/test_0.py',
    'from tests.test_calc import T\n\ndef f():\n    T.test_add = f\n',
  ],
  ['ends the tests of Go', 'main_test.go', 'func TestMain(m *testing.M) {\n\tos.Exit(0)\n}\n'],
  ['runs none of them', 'main_test.go', 'func TestMain(m *testing.M) {\n}\n'],
  [
    'loads the assertions by another function',
    'src/a.js',
    'const r = createRequire(import.meta.url);\nconst a = r("node:assert");\na.equal = () => {};\n',
  ],
  [
    'finds them among those of Node',
    'src/a.js',
    'const a = process.getBuiltinModule("assert");\na.ok = f;\n',
  ],
  [
    'gives them another name',
    'src/a.js',
    'import a from "node:assert";\nconst b = a.strict;\nb.equal = f;\n',
  ],
  ['publishes what it replaced', 'src/a.js', 'import m from "node:module";\nm.syncBuiltinESMExports();\n'],
  ['takes a class of unittest', 'calc.py', 'import unittest\nT = unittest.TestCase\nT.assertEqual = f\n'],
  ['asks for it', 'calc.py', 'import sys\nu = sys.modules.get("unittest")\nu.TestCase.run = f\n'],
  [
    'empties the tests that are loaded',
    'tests/__init__.py',
    'def load_tests(loader, tests, pattern):\n    tests = []\n    return tests\n',
  ],
  ['configures which tests run', 'conftest.py', 'def pytest_configure(config):\n    config.args = []\n'],
  ['ends its runner after the tests', 'test/a.test.js', 'after(() => {\n  process.exit(0);\n});\n'],
  ['ends its runner', 'calc.py', 'import os\nos._exit(0)\ndef add(a, b):\n    return 0\n'],
  ['ends it at the exit', 'calc.py', 'import atexit, os\natexit.register(os._exit, 0)\n'],
  [
    'forges its report',
    'calc.py',
    'import os, sys\ndef add(a, b):\n    print("Ran 2 tests in 0.1s")\n    os._exit(0)\n',
  ],
  ['forges one of Node', 'src/a.js', 'console.log("# tests 2\\n# pass 2"); process.exit(0);\n'],
  ['changes the exit code', 'src/a.js', 'process.on("exit", () => { process.exitCode = 0; });\n'],
  ['ends the tests of Go when loaded', 'add.go', 'package p\n\nfunc init() {\n\tos.Exit(0)\n}\n'],
  ['hides failures', 'src/a.js', 'process.on("uncaughtException", () => {});\nexport const a = 1;\n'],
  ['hides rejections', 'src/a.js', "process.once('unhandledRejection', function (_) { /* later */ });\n"],
  ['takes failures away', 'a.cjs', 'process.setUncaughtExceptionCaptureCallback((e) => undefined);\n'],
  [
    'has a number that equals every other',
    'calc.py',
    'class E(int):\n    def __eq__(self, other) -> bool:\n        return True\n',
  ],
  ['differs from nothing', 'calc.py', 'class E(int):\n    def __ne__(self, o): return False\n'],
  ['ends them at the exit', 'test/z.test.js', 'process.on("exit", () => { process.exitCode = 0; });'],
])('found: a file that %s', ([, path, text]) => {
  expect(by(path, text)).toBeDefined();
});

test.for<[string, string, string]>([
  [
    'uses assertions',
    'src/a.js',
    'import a from "node:assert";\na.equal(1, 1);\nif (a.x === b.y) a.ok(x => x);\n',
  ],
  [
    'has a name in common',
    'src/a.js',
    'import { equal } from "node:assert";\nthis.equal = 1;\nb.equal = 2;\n',
  ],
  [
    'uses stand-ins',
    'tests/test_a.py',
    'from unittest import mock\ndef test(mock):\n    mock.return_value = 3\n',
  ],
  ['stands in for a missing module', 'tests/test_a.py', 'import sys\nsys.modules["RPi"] = MagicMock()\n'],
  ['sets data of the product', 'tests/test_a.py', 'import calc\ncalc.DB = ":memory:"\n'],
  ['sets a function in a test', 'tests/test_a.py', 'import calc\ndef test_a():\n    calc.add = fake\n'],
  [
    'sets an environment variable',
    'test/a.test.js',
    'process.env.TZ = "UTC";\nglobalThis.fetch = () => {};\n',
  ],
  [
    'extends expectations',
    'test/a.test.js',
    'import { expect } from "vitest";\nexpect.extend({ near() {} });\n',
  ],
  ['ends itself as failed', 'test/a.test.js', 'process.exit(1);'],
  ['runs the tests of Go', 'main_test.go', 'func TestMain(m *testing.M) {\n\tos.Exit(m.Run())\n}\n'],
  ['is a product with hooks of pytest', 'src/plugin.py', 'def pytest_addoption(parser):\n    pass\n'],
  ['names a part of the library', 'tests/test_a.py', 'import unittest\nT = unittest.TestCase\nx.T = 1\n'],
  [
    'adds doctests',
    'tests/test_doc.py',
    'def load_tests(loader, tests, ignore):\n    tests.addTests(doctest.DocTestSuite(calc))\n    return tests\n\n\nclass T:\n    pass\n',
  ],
  [
    'registers a marker',
    'conftest.py',
    'def pytest_configure(config):\n    config.addinivalue_line("markers", "slow: slow")\n',
  ],
  ['resets the exit code', 'test/a.test.js', 'afterEach(() => {\n  process.exitCode = 0;\n});\n'],
  ['is a fixture that exits', 'test/fixtures/server.js', 'process.on("SIGTERM", () => process.exit(0));\n'],
  ['starts one that exits', 'test/a.test.js', 'run(["node", "-e", "process.exit(0)"]);\n'],
  ['ends a child', 'pool.py', 'import os\nif os.fork() == 0:\n    work()\n    os._exit(0)\n'],
  ['reports other tests', 'src/report.js', 'console.log(`${n} tests passed`);\nprocess.exit(0);\n'],
  ['cleans up at the exit', 'src/a.js', 'process.on("exit", () => { rmSync(dir); });\nprocess.exit(0);\n'],
  ['is a command of Go', 'main.go', 'package main\n\nfunc main() {\n\tos.Exit(0)\n}\n'],
  ['is a product that exits', 'src/cli.js', 'process.exit(0);'],
  ['logs failures', 'src/a.js', 'process.on("uncaughtException", (e) => { log(e); process.exit(1); });\n'],
  ['ignores a closed pipe', 'src/cli.js', 'process.stdout.on("error", () => {});\n'],
  [
    'compares values',
    'calc.py',
    'class E:\n    def __eq__(self, other):\n        if self is other:\n            return True\n        return self.n == other.n\n',
  ],
  [
    'is a stand-in of tests',
    'tests/any.py',
    'class Any:\n    def __eq__(self, other):\n        return True\n',
  ],
])('not found: a file that %s', ([, path, text]) => {
  expect(by(path, text)).toBeUndefined();
});
