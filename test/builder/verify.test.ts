import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { unittestCommand } from '../../src/builder/unittest.ts';
import { foretold, type Probe, verifyCommands } from '../../src/builder/verify.ts';
import { plannedCommandProblem } from '../../src/core/policy/commands.ts';
import { splitWords } from '../../src/core/policy/words.ts';
import { type Files, folder, tree } from './support.ts';

const has = (...programs: string[]): Probe => ({
  has: async (program) => programs.includes(program),
  imports: async (module) => programs.includes(module),
});
const all = has('npm', 'bash', 'python3');
const pkg = (test: string) => JSON.stringify({ scripts: { test } });

type Row = readonly [
  string,
  Files,
  readonly string[],
  { probe?: Probe; exempt?: boolean; files?: string[] }?,
];
const rows: readonly Row[] = [
  ['its script first', { 'scripts/verify.sh': '', 'package.json': pkg('x') }, ['bash scripts/verify.sh']],
  ['the test script of package.json', { 'package.json': pkg('node x'), 'a.test.js': '' }, ['npm test']],
  [
    'nothing of the test script that npm init wrote',
    { 'package.json': pkg('echo "Error: no test specified" && exit 1'), 'a.test.mjs': '' },
    ['node --test'],
  ],
  ['nothing of a broken package.json', { 'package.json': '{', 'test/a.cjs': '' }, ['node --test']],
  [
    'no test of an installed package',
    { 'node_modules/m/a.test.js': '', 'a.js': '' },
    ['node --check a.js'],
    { files: ['a.js'] },
  ],
  ['no test in a hidden folder', { '.cache/a.test.js': '', 'a.js': '' }, []],
  [
    'no file whose name a planned command may not contain',
    { '~x.js': '', 'a.js': '' },
    ['node --check a.js'],
    { files: ['~x.js', 'a.js'] },
  ],
  ['no file that only has "test" in its name', { 'contest.js': '', 'latest/a.js': '' }, []],
  ["python's own tests", { 'tests/test_a.py': '' }, [unittestCommand]],
  [
    "python's own tests where pytest would find none",
    { 'app/tests.py': '' },
    [unittestCommand],
    { probe: has('python3', 'pytest') },
  ],
  [
    'pytest if it is installed',
    { 'a_test.py': '' },
    ['python3 -m pytest -q'],
    { probe: has('python3', 'pytest') },
  ],
  ['no Python if it is not installed', { 'test_a.py': '' }, [], { probe: has(), files: ['test_a.py'] }],
  ["Go's tests", { 'go.mod': 'module m', 'p/a_test.go': '' }, ['go test ./...'], { probe: has('go') }],
  [
    "Go's vet where there are no tests",
    { 'go.mod': 'module m', 'a.go': '' },
    ['go vet ./...'],
    { probe: has('go') },
  ],
  ["Rust's tests", { 'Cargo.toml': '' }, ['cargo test --offline'], { probe: has('cargo') }],
  ['no compiler that is not installed', { 'go.mod': '', 'Cargo.toml': '' }, [], { probe: has() }],
  [
    'Python in all, where an exempt order has no file to parse',
    { 'a.txt': '' },
    ['python -m compileall -q .'],
    { probe: has('python'), exempt: true, files: ['a.txt'] },
  ],
  ['nothing if there is no code', { 'README.md': '' }, [], { files: ['README.md'] }],
  [
    'only that an exempt order compiles',
    { 'scripts/verify.sh': '' },
    ['bash -n scripts/verify.sh'],
    { exempt: true, files: ['scripts/verify.sh', 'gone.js'] },
  ],
];
test.for(rows)('a project is checked by %s', async ([, files, commands, more = {}]) => {
  using it = folder(files);
  const { probe = all, exempt = false, files: touched = [] } = more;
  expect(await verifyCommands(it.path, { verify_exempt: exempt }, { files: touched, probe })).toEqual(
    commands,
  );
});

test.for<[string, Files, string[], boolean, boolean]>([
  [
    'the commands, if no file of the order decides about them',
    { 'package.json': pkg('x') },
    ['a.js'],
    true,
    false,
  ],
  [
    'the rule, if the order may write package.json',
    { 'package.json': pkg('x') },
    ['package.json'],
    false,
    false,
  ],
  ['the rule, if the order may write a test', { 'package.json': pkg('x') }, ['test/a.js'], false, false],
  ['the rule, if the project has no files yet', {}, ['a.js'], false, false],
  ['the script, whatever else the order may write', { 'scripts/verify.sh': '' }, ['a.test.js'], true, false],
  ['the parse check, for an exempt order', { 'package.json': pkg('x') }, ['a.js'], true, true],
])('the prompt shows %s', async ([, files, allowed_files, settled, verify_exempt]) => {
  using it = folder(files);
  const told = await foretold(it.path, { verify_exempt, allowed_files }, all);
  expect(told.length === 1).toBe(settled);
  if (!settled) expect(told[0]).toContain('the first of these that applies');
  else if (!verify_exempt)
    expect(told).toEqual(await verifyCommands(it.path, { verify_exempt }, { files: [], probe: all }));
});

test.for([
  ['a.mjs', 'export const a = 1;\n', 'export const = 1;\n'],
  ['a.cjs', 'module.exports = 1;\n', 'module.exports = ;\n'],
  ["it's $HOME.json", '{"a": 1}\n', '{"a": 1,}\n'],
  ['-rf.sh', 'echo hi\n', 'if\n'],
  ['-p.js', 'let a = 1;\n', 'let = = 1;\n'],
])(
  'the compile check of %s passes valid files, fails on invalid ones, and leaves no files',
  async ([name = '', good = '', bad = '']) => {
    const code = async (content: string): Promise<number> => {
      using it = folder({ [name]: content });
      const [command = ''] = await verifyCommands(
        it.path,
        { verify_exempt: true },
        { files: [name], probe: all },
      );
      expect(plannedCommandProblem(command)).toBeUndefined();
      const split = splitWords(command);
      const [program = '', ...words] = 'words' in split ? split.words : [];
      try {
        execFileSync(program, words, { cwd: it.path, stdio: 'ignore' });
      } catch (error) {
        return error instanceof Error && 'status' in error ? Number(error.status) : -1;
      } finally {
        expect(readdirSync(it.path)).toEqual([name]);
        expect(tree(it.path)).toEqual({ [name]: content });
      }
      return 0;
    };
    expect(await code(good)).toBe(0);
    expect(await code(bad)).not.toBe(0);
  },
);

const unit = (says: string) =>
  `import unittest\nfrom calc import add\nclass T(unittest.TestCase):\n  def test_add(self):\n    self.assertEqual(add(1, 2), ${says})\n`;
test.for([
  ['a test in a folder without __init__.py that holds', { 'tests/test_calc.py': unit('3') }, 0, 'Ran 1 test'],
  ['one that does not hold', { 'tests/test_calc.py': unit('999') }, 1, '999'],
  [
    'one in a package',
    { 'a/__init__.py': '', 'a/b/__init__.py': '', 'a/b/c_test.py': unit('999') },
    1,
    '999',
  ],
  [
    'tests with the same name in two folders',
    { 'a/test_x.py': unit('3'), 'b/test_x.py': unit('3'), 'test.py': unit('3') },
    0,
    'Ran 3 tests',
  ],
  [
    'tests with the same name in two packages of the same name',
    {
      'a/t/__init__.py': '',
      'a/t/test_x.py': unit('3'),
      'b/t/__init__.py': '',
      'b/t/test_x.py': unit('999'),
    },
    1,
    '999',
  ],
  [
    'tests in a package next to a file of the same name',
    { 'tests.py': unit('3'), 'tests/__init__.py': '', 'tests/test_x.py': unit('3') },
    0,
    'Ran 2 tests',
  ],
  ['no test in a test file', { 'tests/test_calc.py': 'x = 1\n' }, 1, 'no test was found'],
  ['a file that ends the program', { 'test_calc.py': 'import sys\nsys.exit(0)\n' }, 1, 'ends the program'],
  ['a function for pytest', { 'test_f.py': 'def test_x():\n  assert 1 == 999\n' }, 1, 'test_f.py: test_x'],
  [
    'a function and a class for pytest that hold',
    { 'test_f.py': 'def test_x():\n  assert True\nclass TestY:\n  def test_z(self):\n    assert True\n' },
    0,
    'Ran 2 tests',
  ],
  ['a function with a fixture', { 'test_f.py': 'def test_x(tmp_path):\n  pass\n' }, 1, 'needs pytest'],
  ['an async function', { 'test_f.py': 'async def test_x():\n  assert False\n' }, 1, 'needs pytest'],
  ['an import that fails', { 'test_f.py': 'import nothing_like_it\n' }, 1, 'nothing_like_it'],
] as const)("python's own tests: %s", ([, files, code, says]) => {
  using it = folder({ 'calc.py': 'def add(a, b):\n  return a + b\n', ...files });
  expect(plannedCommandProblem(unittestCommand)).toBeUndefined();
  const before = tree(it.path);
  const split = splitWords(unittestCommand);
  const [program = '', ...words] = 'words' in split ? split.words : [];
  const ran = spawnSync(program, words, { cwd: it.path, encoding: 'utf8' });
  expect(ran.stderr).toContain(says);
  expect(ran.status, ran.stderr).toBe(code);
  expect(tree(it.path)).toEqual(before);
});
