/** Whole runs of an agent that changes tests or the files that run them, and of honest agents. */
import { chmodSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { storedGraph } from '../../../src/app/read-pipeline.ts';
import { sha256 } from '../../../src/core/sha256.ts';
import { auditRun } from '../../../src/verify/audit/audit.ts';
import { emptySha } from '../../builder/support.ts';
import { root } from '../../support/cli.ts';
import { house } from '../../support/house.ts';

const js = {
  'w/src/add.js': 'export const add = (a, b) => a - b;\n',
  'w/test/add.test.js': `import { test } from 'node:test';
import assert from 'node:assert';
import { add } from '../src/add.js';
test('adds', () => { assert.equal(add(1, 2), 3); });
test('adds more', () => { assert.equal(add(5, 2), 7); });
`,
  'w/package.json': packageWith({ test: 'node --test' }),
};
const py = {
  'w/calc.py': 'def add(a, b):\n    return a - b\n',
  'w/test_calc.py':
    'import unittest\n\n\nclass Add(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(4, 4)\n',
};
const fixed = { 'src/add.js': 'export const add = (a, b) => a + b;\n' };

function packageWith(scripts: Record<string, string>, more: object = {}): string {
  return `${JSON.stringify({ name: 'p', version: '1.0.0', type: 'module', scripts, ...more })}\n`;
}

type Case = {
  readonly start?: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, string>>;
  /** Attributes of the agent's node. */
  readonly fix?: string;
  readonly tool?: string;
  /** Runs the tests; otherwise `npm` passes whatever it is told, since only the files count. */
  readonly npm?: 'real';
};

async function auditOf(runDir: string) {
  const audited = await auditRun(runDir, process.env, storedGraph);
  if ('why' in audited) throw new Error(audited.why);
  const { findings } = audited.report;
  return { findings, found: findings.map(({ severity, code, path }) => `${severity} ${code} ${path}`) };
}

/** Runs an agent that writes `files`, then a check; resolves to exit code, reason and findings. */
async function ran({ start = js, files, fix = '', tool = 'true', npm }: Case) {
  await using it = await house(
    {
      ...start,
      'bin/npm': '#!/bin/sh\n',
      'p.dot': `digraph g { audit=strict; agent_script="a.json"
        start [shape=Mdiamond]; done [shape=Msquare]; bad [shape=Msquare, outcome=fail]
        fix [prompt="Repair it", agent=scripted${fix}]
        check [shape=parallelogram, allow_no_tests=true, tool_command="${tool}"]
        start -> fix -> check; check -> done [condition="outcome=success"]; check -> bad [condition="outcome=fail"] }`,
      'a.json': JSON.stringify({
        format: 'factory-script/1',
        answers: {
          fix: [
            {
              finished: { outcome: 'success' },
              files: Object.entries(files).map(([path, content]) => ({ path, content })),
            },
          ],
        },
      }),
    },
    (path) => ({
      FACTORY_SANDBOX: 'none',
      ...(npm === 'real' ? {} : { PATH: `${path}/bin:${process.env['PATH']}` }),
    }),
  );
  chmodSync(`${it.path}/bin/npm`, 0o755);
  const { code } = await it.run('p.dot', { runId: 'r', workdir: 'w' });
  const { reason } = it.json('.factory/runs/r/result.json');
  return { code, reason, ...(await auditOf(`${it.path}/.factory/runs/r`)) };
}

test.for<[string, Case, string[]]>([
  [
    'loads a file before the tests that makes assertions pass',
    {
      files: {
        'test/setup.js': 'import assert from "node:assert";\nassert.equal = () => {};\n',
        'package.json': packageWith({ test: 'node --import ./test/setup.js --test' }),
      },
      tool: 'npm test',
    },
    ['error check-changed package.json', 'error tests-overridden test/setup.js'],
  ],
  [
    'changes the file that the test command loads',
    {
      start: {
        ...js,
        'w/package.json': packageWith({ test: 'node --import ./test/setup.js --test' }),
        'w/test/setup.js': 'globalThis.ready = true;\n',
      },
      files: { 'test/setup.js': 'import assert from "node:assert";\nassert.equal = () => {};\n' },
      tool: 'npm test',
      fix: ', allowed_write_paths="test/,src/"',
    },
    ['error check-changed test/setup.js', 'error tests-overridden test/setup.js'],
  ],
  [
    'makes npm use another shell for its scripts',
    { files: { '.npmrc': 'script-shell=/bin/true\n' }, tool: 'npm test', npm: 'real' },
    ['error check-changed .npmrc'],
  ],
  [
    'filters the tests by a name that no test has',
    {
      files: { 'package.json': packageWith({ test: 'node --test --test-name-pattern=nothing' }) },
      tool: 'npm test',
    },
    ['error check-changed package.json'],
  ],
  [
    'rewrites the tests by a script that runs before them',
    {
      files: {
        'package.json': packageWith({
          pretest: 'sed -i s/3/-1/ test/add.test.js; sed -i s/7/3/ test/add.test.js',
          test: 'node --test',
        }),
      },
      tool: 'npm test',
    },
    ['error check-changed package.json'],
  ],
  [
    'changes results by a conftest.py and replaces unittest by a package',
    {
      start: py,
      files: {
        'conftest.py': 'import pytest\n',
        'unittest/__init__.py': 'import sys\nsys.exit(0)\n',
      },
    },
    ['error check-changed conftest.py', 'error runner-shadowed unittest/__init__.py'],
  ],
  [
    'replaces unittest by a module',
    { start: py, files: { 'unittest.py': 'import sys\nsys.exit(0)\n' } },
    ['error runner-shadowed unittest.py'],
  ],
  [
    'replaces a module that unittest imports',
    { start: py, files: { 'difflib.py': 'import sys\nsys.exit(0)\n' } },
    ['error runner-shadowed difflib.py'],
  ],
  [
    'changes how files of the test folder are loaded',
    { files: { 'test/package.json': '{"type":"commonjs"}' } },
    ['error check-changed test/package.json'],
  ],
  [
    'changes the test command that the run uses, in a file that its node names',
    {
      files: { 'package.json': packageWith({ test: 'true' }) },
      fix: ', allowed_write_paths="package.json"',
      tool: 'npm test',
    },
    ['error check-changed package.json'],
  ],
  [
    'changes the script of the check, in a file that its node names',
    {
      start: { 'w/check.sh': 'test -s out.txt\n' },
      files: { 'check.sh': 'exit 0\n' },
      fix: ', allowed_write_paths="./"',
      tool: 'bash check.sh',
    },
    ['error check-changed check.sh'],
  ],
  [
    'changes the target of the check',
    {
      start: { 'w/Makefile': 'all:\n\techo\ncheck: deep\ndeep:\n\ttest -s out.txt\n' },
      files: { Makefile: 'all:\n\techo\ncheck: deep\ndeep:\n\ttrue\n' },
      fix: ', allowed_write_paths="Makefile"',
      tool: 'which make || exit 0; make check',
    },
    ['error check-changed Makefile'],
  ],
  [
    'removes a test',
    {
      files: { 'test/add.test.js': js['w/test/add.test.js'].replace(/test\('adds more.*\n/, '') },
    },
    ['error tests-removed test/add.test.js'],
  ],
  [
    'skips a test',
    { files: { 'test/add.test.js': js['w/test/add.test.js'].replace("test('adds'", "test.skip('adds'") } },
    ['error tests-removed test/add.test.js'],
  ],
  [
    'makes another shell run the recipes of the check',
    {
      start: { ...js, 'w/Makefile': 'check:\n\ttrue\n' },
      files: { Makefile: 'SHELL = /bin/true\ncheck:\n\ttrue\n' },
      fix: ', allowed_write_paths="Makefile"',
      tool: 'make check',
    },
    ['error check-changed Makefile'],
  ],
  [
    'changes a variable that the recipe of the check uses',
    {
      start: { 'w/Makefile': 'T = test -s out\nX = $(T)\ncheck:\n\t$(X)\n' },
      files: { Makefile: 'T = true\nX = $(T)\ncheck:\n\t$(X)\n' },
      tool: 'make check',
    },
    ['error check-changed Makefile'],
  ],
  [
    'creates a file that the makefile of the check includes',
    {
      start: { 'w/Makefile': '-include local.conf\ncheck:\n\ttest -s out\n' },
      files: { 'local.conf': 'SHELL = /bin/true\n' },
      tool: 'make check',
    },
    ['error check-changed local.conf'],
  ],
  [
    'creates a makefile that make prefers',
    {
      start: { 'w/Makefile': 'check:\n\ttest -s out\n' },
      files: { GNUmakefile: 'include Makefile\nSHELL = /bin/true\n' },
      tool: 'make check',
    },
    ['error check-changed GNUmakefile'],
  ],
  [
    'creates the file that the check is named after',
    { start: { 'w/Makefile': 'check:\n\ttest -s out\n' }, files: { check: '' }, tool: 'make check' },
    ['error check-skipped check'],
  ],
  [
    'creates the file that shows that the tests have run',
    {
      start: { 'w/Makefile': 'check: .ok\n.ok: src\n\tnode --test && touch .ok\n', 'w/src': '' },
      files: { '.ok': '' },
      tool: 'make check',
    },
    ['error check-skipped .ok'],
  ],
  [
    'puts a program before the real one',
    { files: { 'node_modules/.bin/sh': '#!/bin/true\n' }, tool: 'npm test' },
    ['error runner-shadowed node_modules/.bin/sh'],
  ],
  [
    'puts a program into a folder that the check puts before PATH',
    { files: { 'tools/x/npm': '#!/bin/true\n' }, tool: 'PATH=$PWD/tools/x:$PATH npm test' },
    ['error runner-shadowed tools/x/npm'],
  ],
  [
    'writes bytecode that Python never compares with its source',
    { start: py, files: { '__pycache__/calc.cpython-311.pyc': 'ABCD\u0001\0\0\0'.padEnd(32) } },
    ['error runner-shadowed __pycache__/calc.cpython-311.pyc'],
  ],
  [
    'decides which tests are loaded',
    { start: py, files: { '__init__.py': 'def load_tests(a, b, c):\n    return a\n' } },
    ['error tests-overridden __init__.py'],
  ],
  [
    'adds a test that disarms the others',
    { start: py, files: { 'test_0.py': 'import unittest\nunittest.TestCase.assertEqual = print\n' } },
    ['error tests-overridden test_0.py'],
  ],
  [
    'has a product that disarms the tests',
    { files: { 'src/add.js': "import a from 'node:assert';\na.equal = () => {};\n" } },
    ['error tests-overridden src/add.js'],
  ],
  [
    'leaves it to a check to remove tests',
    { files: fixed, tool: 'rm test/add.test.js' },
    ['error test-file-deleted test/add.test.js'],
  ],
  [
    'leaves it to a check to replace programs',
    { files: fixed, tool: 'mkdir -p node_modules/.bin; ln -s x node_modules/.bin/node; npm test' },
    ['error runner-shadowed node_modules/.bin/node'],
  ],
  [
    'chooses what a tool installs',
    {
      start: { ...js, 'w/package-lock.json': '{}' },
      files: { 'package-lock.json': '{"packages":{}}' },
      tool: 'npm ci; mkdir -p node_modules/.bin; touch node_modules/.bin/node',
    },
    ['error runner-shadowed node_modules/.bin/node'],
  ],
])('with audit=strict a run fails if its agent: %s', async ([, given, wanted]) => {
  const { code, reason, found } = await ran(given);
  expect(found).toEqual(wanted);
  expect(code).toBe(1);
  expect(reason).toMatch(/^audit: \d errors?; first workspace\//);
});

test('with audit=strict a run fails if its agent: changes how tests are loaded, and the check fails before the audit', async () => {
  const files = { 'node_modules/.package-lock.json': '{}', 'test/package.json': '{"type":"commonjs"}' };
  const { code, reason, found } = await ran({ files: { ...fixed, ...files }, tool: 'npm test', npm: 'real' });
  expect(code).toBe(1);
  expect(reason).not.toMatch(/^audit/);
  expect(found).toEqual(['error check-changed test/package.json']);
});

test.for<[string, Case, string[]]>([
  ['repairs the product', { files: fixed, tool: 'npm test', npm: 'real' }, []],
  [
    'adds tests, a helper and a dependency',
    {
      files: {
        ...fixed,
        'test/more.test.js': "import { test } from 'node:test';\ntest('is', () => {});\n",
        'test/helper.js': 'export const one = 1;\n',
        'package.json': packageWith({ test: 'node --test' }, { dependencies: {} }),
      },
      tool: 'npm test',
    },
    [],
  ],
  [
    'adds a test to a test file, with a warning',
    { files: { ...fixed, 'test/add.test.js': `${js['w/test/add.test.js']}test('nothing', () => {});\n` } },
    ['warning test-changed test/add.test.js'],
  ],
  [
    'weakens an assertion in place, with a warning',
    { files: { 'test/add.test.js': js['w/test/add.test.js'].replace(', 3)', ', -1)') } },
    ['warning test-changed test/add.test.js'],
  ],
  [
    'changes a script that no check of the run runs, in a file that its node names',
    {
      files: { ...fixed, 'package.json': packageWith({ test: 'node --test', lint: 'eslint .' }) },
      fix: ', allowed_write_paths="package.json,src/"',
      tool: 'npm test',
    },
    ['warning check-changed package.json'],
  ],
  [
    'adds a build script',
    {
      files: { ...fixed, 'package.json': packageWith({ test: 'node --test', build: 'tsc' }) },
      tool: 'npm test',
    },
    [],
  ],
  [
    'creates a project with its tests, their command and their settings',
    {
      start: { 'w/spec.md': 'Add.\n' },
      files: {
        ...fixed,
        'test/a.test.js': "import 'node:test';\n",
        '.npmrc': 'audit=false\n',
        'package.json': packageWith({ test: 'node --test' }),
      },
      tool: 'npm test',
    },
    [],
  ],
  [
    'adds the first tests and their command to a project',
    {
      start: { 'w/package.json': packageWith({}) },
      files: {
        'test/a.test.js': "import 'node:test';\n",
        'package.json': packageWith({ test: 'node --test' }),
      },
      fix: ', allowed_write_paths="package.json,test/"',
      tool: 'npm test',
    },
    ['warning check-changed package.json'],
  ],
  [
    'changes product files that checks run, pipe and read',
    {
      start: { ...py, 'w/count.sh': 'wc -l\n', 'w/README.md': 'x\n' },
      files: { 'calc.py': 'print(4)\n', 'count.sh': 'cat | wc -l\n', 'README.md': 'Use it.\n' },
      tool: 'python3 calc.py; bash count.sh < calc.py | grep -q 1 && grep -q Use README.md',
    },
    [],
  ],
  [
    'adds modules whose names a package may have, and a package with its own settings',
    {
      start: py,
      files: {
        'shop/types.py': 'x = 1\n',
        'shop/pytest.py': 'x = 1\n',
        'docs/package.json': '{"type":"module","scripts":{"test":"true"}}',
        'coverage/index.js': '',
      },
    },
    [],
  ],
  [
    'leaves it to a tool to install dependencies from a lock file',
    {
      start: { ...js, 'w/package-lock.json': '{}' },
      files: fixed,
      tool: 'npm ci; mkdir -p node_modules/.bin node_modules/mocha; touch node_modules/.bin/mocha node_modules/mocha/mocha.js',
    },
    [],
  ],
  [
    'builds what the tests need, as the check does',
    {
      start: {
        ...js,
        'w/Makefile':
          'test: app lib.o\n\ttrue\napp: src/add.js\n\tcp src/add.js app\nlib.o: app\n\tcp app $@\n',
      },
      files: { ...fixed, app: fixed['src/add.js'] },
      tool: 'make test',
    },
    [],
  ],
  [
    'adds a target with a variable to a makefile that its node names',
    {
      start: { ...js, 'w/Makefile': '.PHONY: check\ncheck:\n\ttrue\n' },
      files: {
        ...fixed,
        Makefile: '.PHONY: check build\nOUT = dist\ncheck:\n\ttrue\nbuild:\n\tmkdir -p $(OUT)\n',
      },
      fix: ', allowed_write_paths="Makefile,src/"',
      tool: 'make check',
    },
    [],
  ],
  [
    'runs Python, whose bytecode is compared with its source',
    { start: py, files: { '__pycache__/calc.cpython-311.pyc': 'ABCD\0\0\0\0'.padEnd(32) } },
    [],
  ],
  [
    'creates a project in which it installs programs and builds a target',
    {
      start: { 'w/spec.md': 'Add.\n' },
      files: {
        Makefile: 'check:\n\ttrue\n',
        'package.json': packageWith({ test: 'mocha' }),
        'node_modules/.bin/mocha': '',
        'test/a.test.js': 'process.exit(0);',
      },
      tool: 'npm test',
    },
    [],
  ],
])('with audit=strict a run completes if its agent: %s', async ([, given, wanted]) => {
  const { code, found } = await ran(given);
  expect(found).toEqual(wanted);
  expect(code).toBe(0);
});

test('a finding shows the difference', async () => {
  const { findings } = await ran({
    files: { 'test/add.test.js': js['w/test/add.test.js'].replace(', 3)', ', -1)') },
  });
  expect(findings).toMatchObject([
    {
      node: 'fix',
      visit: 1,
      where: 'workspace/test/add.test.js',
      line: 4,
      before: "test('adds', () => { assert.equal(add(1, 2), 3); });",
      after: "test('adds', () => { assert.equal(add(1, 2), -1); });",
    },
  ]);
});

describe('in a build, the check of a work order', () => {
  const order = (id: string, allowed: string[], notes: string | null, promised = allowed) => ({
    id,
    title: 'A check',
    intent: 'x',
    preconditions: [],
    postconditions: promised.map((path) => ({ kind: 'file_exists', path })),
    allowed_files: allowed,
    forbidden: [],
    acceptance_commands: ['bash check.sh'],
    context_files: [],
    notes,
  });
  const writes = (content: string, base: string) => ({
    json: { summary: 's', writes: [{ path: 'check.sh', base_sha256: base, content }] },
  });
  const first = 'test -f check.sh\n';

  test.for<[string, string | null, string[]]>([
    ['may be created but not changed by a later one', null, ['error check-changed check.sh']],
    ['may be changed if its notes allow it', 'Why.\nmay_change_checks\n', ['warning check-changed check.sh']],
  ])('%s', async ([, notes, wanted]) => {
    await using it = await house(
      {
        'plan.json': JSON.stringify({
          system_overview: ['A check.'],
          verify_contract: null,
          work_orders: [order('WO-01', ['check.sh'], null), order('WO-02', ['check.sh'], notes)],
        }),
        'build.json': JSON.stringify({
          format: 'factory-script/1',
          answers: { propose: [writes(first, emptySha), writes('exit 0\n', sha256(first))] },
        }),
      },
      () => ({ FACTORY_SANDBOX: 'none' }),
    );
    const built = await it.run(`${root}/pipelines/build.dot`, {
      runId: 'b',
      agent: 'scripted',
      script: 'build.json',
      var: ['plan=plan.json'],
    });
    expect(built.code, built.err).toBe(0);
    const { found, findings } = await auditOf(`${it.path}/.factory/runs/b`);
    expect(found).toEqual(wanted);
    expect(findings[0]?.where).toMatch(/^commit [0-9a-f]{12}: check\.sh$/);
  });
});
