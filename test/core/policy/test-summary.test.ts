/** Which output is a runner's own summary, and what silences it. */
import { expect, test } from 'vitest';
import { failedTests, runnerOf, untested } from '../../../src/core/policy/test-summary.ts';

const none = async () => undefined;
const said = async (command: string, output: string, files: Readonly<Record<string, string>> = {}) => {
  const [program = '', ...words] = command.split(' ');
  const runner = await runnerOf(program, words, async (name) => files[name]);
  return runner === undefined ? 'unknown' : untested(output, [{ ...runner, decides: true }]);
};

test.for([
  ['pytest', '============ 3 passed, 1 warning in 0.02s ============'],
  ['pytest -q', '...            [100%]\n3 passed in 0.01s'],
  ['pytest', '1 skipped in 0.01s'],
  ['pytest', '\u001b[32m==== \u001b[32m\u001b[1m3 passed\u001b[0m\u001b[32m in 0.01s\u001b[0m'],
  ['pytest --tap', '1..3\nok 1 - a'],
  ['pytest', 'Results (0.05s):\n       3 passed'],
  ['unittest -q', '----\nRan 2 tests in 0.001s\n\nOK'],
  ['node --test', '✔ adds (0.4ms)\nℹ tests 1\nℹ suites 0\nℹ pass 1'],
  ['node --test --test-reporter=tap', '# Subtest: adds\nok 1 - adds\n1..1\n# tests 1\n# pass 1'],
  ['node --test --test-reporter junit', '<testsuites>\n</testsuites>\n<!-- tests 3 -->'],
  ['node --import tsx --test', 'ℹ tests 1'],
  ['mocha', '  adds\n\n  3 passing (5ms)\n  1 pending'],
  ['mocha -R dot', '  ...\n\n  3 passing (5ms)'],
  ['mocha --reporter json', '{"stats": {"suites": 1, "tests": 3, "passes": 3}}'],
  ['mocha -R tap', '1..1\nok 1 adds\n# tests 1\n# pass 1'],
  ['mocha -R xunit', '<testsuite name="Mocha Tests" tests="3">'],
  ['jest', 'PASS ./a.test.js\nTests:       1 skipped, 3 passed, 4 total\nSnapshots:   0 total'],
  ['jest --json', '{"numFailedTests":0,"numTotalTests":3}'],
  ['vitest run', ' Test Files  1 passed (1)\n      Tests  3 passed (3)'],
  ['vitest run --reporter=json', '{"numTotalTestSuites":1,"numTotalTests":3}'],
  ['vitest run --reporter=tap-flat', 'TAP version 13\n1..1\nok 1 - a'],
  ['vitest run --reporter=junit', '<testsuites name="vitest tests" tests="3">'],
  ['ava', '  ✔ adds\n  ─\n\n  2 tests passed'],
  ['ava', '  1 test passed'],
  ['tape', '1..2\n# tests 2\n# pass  2\n\n# ok'],
  ['bats', '1..2\nok 1 adds\nok 2 subtracts'],
  ['bats -p', ' ✓ adds\n\n1 test, 0 failures'],
  ['bun test', ' 3 pass\n 0 fail\nRan 3 tests across 1 file. [12.00ms]'],
  ['deno test', 'ok | 3 passed | 0 failed (12ms)'],
  ['rspec', '3 examples, 0 failures, 1 pending'],
  ['rspec --format json', '{"summary":{"example_count":3},"summary_line":"3 examples, 0 failures"}'],
  ['phpunit', 'OK (3 tests, 5 assertions)'],
  ['phpunit', 'OK, but there were issues!\nTests: 3, Assertions: 5, Deprecations: 1.'],
  ['cargo test', 'running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed'],
  ['cargo test -q', 'running 1 test\n.\ntest result: ok. 1 passed; 0 failed'],
  ['cargo test', '   Compiling x'],
  ['go test ./...', ''],
])('%s has run tests if it prints %j', async ([command = '', output = '']) => {
  expect(await said(command, output)).toBeUndefined();
});

test.for([
  ['pytest', '', 'pytest'],
  ['pytest -qq', '...            [100%]', 'pytest, which -qq silences'],
  ['pytest -q -q', '...            [100%]', 'pytest, which -q -q silences'],
  ['pytest -p no:terminal', '', 'pytest, which -p no:terminal silences'],
  ['unittest discover', '', 'unittest'],
  ['node --test --test-reporter=dot', '..', 'node, which --test-reporter=dot silences'],
  ['node --test --test-reporter dot', '..', 'node, which --test-reporter dot silences'],
  ['node --test --test-isolation=none', '', 'node'],
  ['mocha', 'started', 'mocha'],
  ['jest', '  ● process.exit called with "0"', 'jest'],
  ['vitest run', ' RUN  v4.1.12', 'vitest'],
  ['bun test', 'bun test v1.2.0', 'bun'],
  ['phpunit --no-output', '', 'phpunit, which --no-output silences'],
  ['rspec', '', 'rspec'],
])('%s has run no test if it prints %j', async ([command = '', output = '', runner = '']) => {
  expect(await said(command, output)).toBe(`no test ran: the output has no summary of ${runner}`);
});

test('options of pytest in its settings are named too', async () => {
  const files = { 'pyproject.toml': '[tool.pytest.ini_options]\naddopts = "-q --strict-markers"\n' };
  expect(await said('pytest -q', '...', files)).toMatch(/which -q -q silences$/);
  expect(await said('pytest', '3 passed in 0.01s', files)).toBeUndefined();
});

test('a test program of cargo that ends before its summary is named', async () => {
  const output = 'running 1 test\ntest result: ok. 1 passed\n\nrunning 3 tests\n';
  expect(await said('cargo test', output)).toBe(
    'no summary of cargo for a part of the tests: a test program ended early',
  );
});

test.for([
  ...[
    'node test.js',
    'node script.js --test',
    'python',
    'cargo build',
    'go vet',
    'bun run test',
    'vitest list',
  ],
  ...[
    'pytest --collect-only',
    'node --test --test-reporter=./own.mjs',
    'jest --listTests',
    'jest --passWithNoTests',
  ],
  ...[
    'node --test --test-reporter=junit --test-reporter-destination=out.xml',
    'mocha --reporter mochawesome',
  ],
  ...[
    'vitest run --reporter=html',
    'rspec --format RspecJunitFormatter --out out.xml',
    'cargo test --no-run',
  ],
  ...['gradle test', 'tox', 'rake test', 'tap', 'jest --reporters=jest-junit'],
])('nothing is known about the summary of %s', async (command) => {
  expect(await said(command, '')).toBe('unknown');
});

test('a runner whose settings choose a reporter is not known', async () => {
  for (const [program, name, text] of [
    ['vitest', 'vitest.config.ts', 'export default { test: { reporters: ["junit"], outputFile: "x" } }'],
    ['jest', 'package.json', '{ "jest": { "reporters": ["jest-junit"] } }'],
    ['mocha', '.mocharc.yml', 'reporter: mocha-junit-reporter'],
    ['rspec', '.rspec', '--require spec_helper --out x.txt'],
  ] as const)
    expect(await runnerOf(program, [], async (one) => (one === name ? text : undefined))).toBeUndefined();
  expect(await runnerOf('jest', [], none)).toBeDefined();
});

test.for<[string, string, boolean]>([
  ['unittest', 'F.\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n', true],
  ['unittest', 'FAILED (a line of the product)\nRan 2 tests in 0.001s\n\nOK\n', false],
  ['pytest', '=== 1 failed, 2 passed in 0.02s ===\n', true],
  ['pytest -q', '3 passed, 1 error in 0.02s\n', true],
  ['pytest', '1 failed login in the log\n=== 2 passed, 1 xfailed in 0.02s ===\n', false],
  ['node --test', 'ℹ pass 1\nℹ fail 1\n', true],
  ['node --test', '# fail 1\n# tests 2\n# fail 0\n', false],
  ['mocha', '  1 passing (3ms)\n  1 pending\n  2 failing\n', true],
  ['mocha', '  1 passing (3ms)\n\n', false],
  ['jest', 'Tests:       1 failed, 3 passed, 4 total\n', true],
  ['jest', 'Tests:       3 passed, 3 total\n', false],
  ['vitest run', '      Tests  1 failed | 2 passed (3)\n', true],
  ['vitest run', '      Tests  3 passed (3)\n', false],
  ['rspec', '3 examples, 1 failure\n', true],
  ['rspec', '3 examples, 0 failures, 1 pending\n', false],
])('%s that ended with success and printed %j: did tests fail? %s', async ([command, output, isFailed]) => {
  const [program = '', ...words] = command.split(' ');
  const runner = await runnerOf(program, words, none);
  expect(failedTests(output, runner === undefined ? [] : [{ ...runner, decides: true }]) !== undefined).toBe(
    isFailed,
  );
});
