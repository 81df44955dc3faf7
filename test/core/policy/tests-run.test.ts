import { expect, test } from 'vitest';
import { noTestRan } from '../../../src/core/policy/test-files.ts';

test.for([
  ['node, spec', 'ℹ tests 0\nℹ suites 0\nℹ pass 0\nℹ fail 0'],
  ['node, tap', 'TAP version 13\n1..0\n# tests 0\n# pass 0'],
  ['node, a file without tests', '✔ /w/empty.mjs (31.5ms)\nℹ tests 1\nℹ suites 0\nℹ pass 1'],
  [
    'node, a file without tests, in tap',
    '# Subtest: t/a.test.js\nok 1 - t/a.test.js\n1..1\n# tests 1\n# pass 1',
  ],
  ['unittest', 'Ran 0 tests in 0.000s\n\nOK'],
  ['pytest', '=== no tests ran in 0.01s ==='],
  ['cargo', 'running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored'],
  ['go', 'ok  \tx\t0.002s [no tests to run]\n?   \ty\t[no test files]'],
  ['mocha', '\n  0 passing (1ms)\n'],
  ['rspec', '0 examples, 0 failures'],
  ['vitest', 'No test files found, exiting with code 0'],
  ['phpunit', 'No tests executed!'],
  ['maven', 'Tests run: 0, Failures: 0'],
  ['coloured', '\u001b[34mℹ tests 0\u001b[39m\n'],
])('the output of a runner that ran no test is recognised: %s', ([, output = '']) => {
  expect(noTestRan(output)).toMatch(/^0 tests ran/);
});

test.for([
  ['node, spec', '✔ adds (0.4ms)\nℹ tests 1\nℹ suites 0\nℹ pass 1\nℹ fail 0'],
  ['node, a test and a file without one', '✔ adds (0.4ms)\n✔ /w/empty.mjs (31.5ms)\nℹ tests 2\nℹ pass 2'],
  ['node, a test that is called like a file of two words', '✔ reads a.js (0.4ms)\nℹ tests 1\nℹ pass 1'],
  ['unittest', 'Ran 2 tests in 0.000s\n\nOK'],
  [
    'cargo with empty documentation tests',
    'test result: ok. 3 passed; 0 failed\n\nrunning 0 tests\ntest result: ok. 0 passed',
  ],
  ['go', 'ok  \tx\t0.002s\n?   \ty\t[no test files]'],
  ['go, cached', 'ok  \tx\t(cached)'],
  ['jest', 'Tests:       3 passed, 3 total'],
  ['vitest', '      Tests  3 passed (3)'],
  ['a linter', 'all files are formatted: 0 problems'],
  ['a separate script', 'checked 0 links in 3 files'],
  ['nothing', ''],
])('other output says nothing of the kind: %s', ([, output = '']) => {
  expect(noTestRan(output)).toBeUndefined();
});
