/** What a plan made by an agent may add to an allowed command, by what the run has made and changed. */
import { expect, test } from 'vitest';
import type { PlannedFor } from '../../../src/core/policy/added-words.ts';
import { narrows } from '../../../src/core/policy/added-words.ts';
import { verificationCommandProblem } from '../../../src/core/policy/commands.ts';

const stood = [
  ...[
    'package.json',
    'check.sh',
    'src',
    'src/add.js',
    'src/index.js',
    'calc.py',
    'sub.js',
    'list',
    'list/x.txt',
  ],
  ...['test', 'test/add.test.js', 'test/sub.test.js', 'tests', 'tests/__init__.py', 'tests/test_calc.py'],
  ...['pkg', 'pkg/a.go', 'pkg/a_test.go', 'bare', 'bare/b.go', 'spec', 'spec/a_spec.rb', 'wanted.txt'],
];
/** Made or changed by the run. */
const made = [
  ...[
    'ok.test.mjs',
    'mine.py',
    'ok.sh',
    'mine.rb',
    'own',
    'own/a_test.go',
    'own/test_x.py',
    'test/new.test.js',
  ],
  ...['tests/test_new.py', 'bare/b_test.go', 'greeting.txt', 'dist', 'dist/cli.js', 'cc', 'cc/00', 'link.js'],
];
const changed = ['src/add.js', 'sub.js', 'pkg/a.go', 'calc.py'];
const workspace: PlannedFor = {
  all: new Set([...stood, ...made]),
  changed: new Map([
    ...made.map((path) => [path, 'created'] as const),
    ...changed.map((path) => [path, 'modified'] as const),
    ['test/gone.test.js', 'deleted'],
  ]),
  folder: '.',
};
const allowed =
  'npm, npm test, npm run, npx vitest, vitest, jest, mocha, node, node --test, node --check, python3, python3 -m, python3 -m unittest, pytest, go, go test, cargo test, bash, bash -n, bash check.sh, make, ruby, rspec, cmp, cat, grep, timeout 60, npx eslint, python3 -m py_compile, deno test, bun test, uv run pytest, env -i'.split(
    ', ',
  );
const agents = (command: string, more: Partial<PlannedFor> = {}) =>
  verificationCommandProblem(command, allowed, 'agent', { ...workspace, ...more });

test.for([
  ...[
    'npm test',
    'npm run test',
    'npm test test/add.test.js',
    'npm test add',
    'npm test test',
    'npm run lint',
  ],
  ...[
    'npm run lint src/add.js',
    'npx vitest run',
    'vitest run add',
    'jest sub',
    'vitest run test',
    'mocha test',
  ],
  ...[
    'node --test test/sub.test.js',
    'node --test test/*.test.js',
    'node --check src/add.js',
    'node src/index.js',
  ],
  ...[
    'python3 -m unittest discover',
    'python3 -m unittest tests',
    'python3 -m unittest tests.test_calc.T.test_a',
  ],
  ...['pytest tests', 'pytest tests/test_calc.py::test_a', 'uv run pytest tests', 'python3 -m pytest tests'],
  ...['go test ./...', 'go test ./pkg', 'go test ./pkg/...', 'go test .', 'go vet ./own', 'go build ./own'],
  ...[
    'cargo test adds',
    'bash check.sh fast',
    'bash -n ok.sh',
    'make test',
    'make all',
    'rspec spec/a_spec.rb:3',
  ],
  ...[
    'cmp wanted.txt greeting.txt',
    'cat greeting.txt',
    'grep help greeting.txt',
    'npx eslint src/add.js ok.test.mjs',
  ],
  ...[
    'python3 -m py_compile mine.py',
    'deno test',
    'bun test',
    'npm test list',
    'timeout 60 cat greeting.txt',
  ],
  ...['GOCACHE=$PWD/.fresh go test ./...'],
])('an agent may plan %s', (command) => {
  expect(agents(command)).toBeUndefined();
});

const lists = 'it lists or explains, and runs no test';
test.for([
  ['npm test ok.test.mjs', 'ok.test.mjs'],
  ['npm test ./ok.test.mjs', 'ok.test.mjs'],
  ['npm test -- ok.test.mjs', 'ok.test.mjs'],
  ['npm test src/../ok.test.mjs', ''],
  ['npm test ok', 'ok.test.mjs'],
  ['npm test o..test', 'ok.test.mjs'],
  ['vitest run new.test', 'test/new.test.js'],
  ['npx vitest ok', 'ok.test.mjs'],
  ['jest {ok,x}', 'what {ok,x} selects'],
  ['node --test ok.test.mjs:1', 'ok.test.mjs'],
  ['node --test *.test.mjs', 'ok.test.mjs'],
  ['node ok.test', 'ok.test.mjs'],
  ['node dist/cli.js', 'dist'],
  ['node link.js', 'link.js'],
  ['node src/add.js', 'src/add.js'],
  ['python3 -m unittest mine', 'mine.py'],
  ['python3 -m unittest mine.T.test_a', 'mine.py'],
  ['python3 -m unittest tests.test_new', 'tests/test_new.py'],
  ['python3 -m mine', 'mine.py'],
  ['python3 mine.py', 'mine.py'],
  ['pytest own', 'own'],
  ['pytest mine.py::test_a', 'mine.py'],
  ['uv run pytest mine.py', 'mine.py'],
  ['go test ./own', 'own'],
  ['go test ./own/...', 'own'],
  ['go test ./bare', 'bare/b_test.go'],
  ['go run ./own', 'own'],
  ['bash ok.sh', 'ok.sh'],
  ['bash check.sh ok.sh', 'ok.sh'],
  ['ruby mine.rb', 'mine.rb'],
  ['timeout 60 bash ok.sh', 'ok.sh'],
  ['timeout 60 ./ok.sh', 'ok.sh'],
  ['env -i node ok.test.mjs', 'ok.test.mjs'],
])('an agent may not choose what the run has made: %s', ([command = '', path = '']) => {
  const problem = agents(command);
  if (path === '') return expect(problem).toMatch(/rejected/);
  expect(problem).toContain(`(the run has made or changed ${path}): add "`);
  expect(problem).toContain('to verification.allowed_commands to allow it');
});

test.for([
  ['npm ls', lists],
  ['npm help', lists],
  ['npm test help', lists],
  ['vitest list', lists],
  ['vitest list test', lists],
  ['npx vitest init', lists],
  ['go test help', lists],
  ['go list ./...', lists],
  ['cargo test help', lists],
  ['go version', lists],
  ['bash check.sh help', lists],
  ['pytest @args', 'a file of arguments'],
  ['npm test @args', 'a file of arguments'],
  ['python3 -m unittest @own/args', 'a file of arguments'],
  ['GOCACHE=$PWD/cc go test ./...', 'the run has made or changed this cache'],
  ['GOCACHE=${PWD}/cc/deeper go test ./...', 'the run has made or changed this cache'],
  ['GOCACHE=cc/ go test ./...', 'the run has made or changed this cache'],
  ['GOCACHE=. go test ./...', 'the run has made or changed this cache'],
])('an agent may not keep a runner from its tests: %s', ([command = '', why = '']) => {
  expect(agents(command)).toContain(`(${why}): add "`);
});

test('words are paths in the folder that the commands run in', () => {
  const all = new Set(['app', 'app/test', 'app/test/a.test.js', 'app/ok.test.js']);
  const there = { all, changed: new Map([['app/ok.test.js', 'created']] as const), folder: 'app' };
  expect(agents('npm test test/a.test.js', there)).toBeUndefined();
  expect(agents('npm test ok.test.js', there)).toContain('(the run has made or changed app/ok.test.js)');
});

test('what an entry names word by word, and what a tool plans, may be anything', () => {
  const entries = ['npm test ok.test.mjs', '=pytest @args'];
  expect(verificationCommandProblem('npm test ok.test.mjs', entries, 'agent', workspace)).toBeUndefined();
  expect(verificationCommandProblem('pytest @args', entries, 'agent', workspace)).toBeUndefined();
  expect(verificationCommandProblem('npm test ok.test.mjs', ['npm test'], 'tool', workspace)).toBeUndefined();
});

const tests = ['test/add.test.js', 'test/sub.test.js'];
test.for([
  ['npm test', 2, false],
  ['npm test test/add.test.js', 2, true],
  ['npm test add', 2, true],
  ['npm test test', 2, false],
  ['npm test .', 2, false],
  ['go test ./...', 2, false],
  ['go test ./pkg', 2, true],
  ['vitest run', 1, false],
  ['vitest run sub', 2, true],
  ['cargo test adds', 2, true],
  ['python3 -m unittest tests.test_calc', 3, true],
  ['make test', 1, false],
  ['npm run lint', 2, false],
  ['npm run lint src/a.js', 3, false],
  ['cmp a b', 1, false],
  ['go vet ./pkg', 2, false],
] as const)('the added word of %s narrows the check: %s', ([command, at, does]) => {
  expect(narrows(command.split(' '), at, tests, '.')).toBe(does);
});
