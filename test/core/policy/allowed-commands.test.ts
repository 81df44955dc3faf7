import { expect, test } from 'vitest';
import { verificationCommandProblem } from '../../../src/core/policy/commands.ts';

const allowed = [
  ...['npm test', 'node --test', 'make check', 'bash check.sh', 'gofmt', 'go test', 'cargo test', 'pytest'],
  ...['printenv', '=node --test --test-only', '=LEVEL=2 bash deep.sh', 'python3 -m unittest'],
];
const agents = (command: string) => verificationCommandProblem(command, allowed, 'agent');

test.for([
  ...['npm test', 'npm test --silent', 'npm test -- unit', 'node --test test/a.test.js', 'make check -s -j4'],
  ...['bash check.sh fast', 'go test -race -count=1 -v ./...', 'cargo test --workspace --locked'],
  ...['pytest -q tests', 'python3 -m unittest -v', 'node --test --test-only', 'LEVEL=2 bash deep.sh'],
  ...[
    'CI=1 NODE_ENV=test TZ=UTC LC_ALL=C npm test',
    'GOCACHE=$PWD/.c go test ./...',
    'MODE=fast printenv MODE',
  ],
])('an agent may plan %s', (command) => {
  expect(agents(command)).toBeUndefined();
});

test.for([
  ['npm test --version', 'npm test --version'],
  ['npm test -v', 'npm test -v'],
  ['npm test --if-present', 'npm test --if-present'],
  ['npm test -- --help', 'npm test -- --help'],
  ['npm test --script-shell=true', 'npm test --script-shell=true'],
  ['node --test --version', 'node --test --version'],
  ['node --test --test-name-pattern=zz', 'node --test --test-name-pattern=zz'],
  ['node --test --test-only x.js', 'node --test --test-only'],
  ['make check -n', 'make check -n'],
  ['make check -s MAKE=true', 'make check -s MAKE=true'],
  ['gofmt -l .', 'gofmt -l'],
  ['go test -run XXX', 'go test -run'],
  ['cargo test -- --list', 'cargo test -- --list'],
  ['pytest --collect-only', 'pytest --collect-only'],
  ['LEVEL=3 bash deep.sh', ''],
  ['MODE=fast npm test', '=MODE=fast npm test'],
  ['env MODE=fast npm test', ''],
])('an agent may not plan %s', ([command = '', entry = '']) => {
  const problem = agents(command);
  expect(problem).toMatch(/^verification command rejected: /);
  if (entry !== '') expect(problem).toContain(`add "${entry}`);
});

test.for([
  'SHELLOPTS=noexec bash check.sh',
  'NODE_TEST_CONTEXT=child-v8 node --test',
  'BASHOPTS=x bash check.sh',
])('no author may plan %s, whatever is allowed', (command) => {
  for (const author of ['agent', 'tool'] as const)
    expect(verificationCommandProblem(command, [...allowed, `=${command}`], author)).toMatch(
      /which loads code/,
    );
});

test('after a prefix, a plan that a tool set may add any words', () => {
  expect(verificationCommandProblem('npm test --if-present A=1', allowed, 'tool')).toBeUndefined();
});

test('a command of more than 16 KiB is refused', () => {
  expect(agents(`npm test ${'x '.repeat(9000)}`)).toMatch(/longer than 16384 characters/);
});
