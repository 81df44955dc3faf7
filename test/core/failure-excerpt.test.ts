import { describe, expect, test } from 'vitest';
import { failureExcerpt, failureLine } from '../../src/core/failure-excerpt.ts';

const lines = (count: number, line: (n: number) => string): string[] =>
  Array.from({ length: count }, (_, n) => line(n));

/** A failure as a runner reports it, among much else, and the parts that must be shown. */
const reports: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  [
    'node --test',
    [
      ...lines(150, (n) => `✔ rejects error ${n} (0.1ms)`),
      '✖ adds two (1.2ms)',
      ...lines(150, (n) => `✔ case ${n} (0.1ms)`),
      'ℹ tests 301',
      'ℹ fail 1',
      '',
      '✖ failing tests:',
      '',
      'test at test/add.test.js:4:1',
      '✖ adds two (1.2ms)',
      '  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:',
      '',
      '  -1 !== 3',
      '',
      '      at TestContext.<anonymous> (file:///w/test/add.test.js:4:29)',
      ...lines(9, (n) => `      at Test.run (node:internal/test_runner/test:${n}:25)`),
      "    code: 'ERR_ASSERTION',",
      '    actual: -1,',
      '    expected: 3,',
    ],
    ['✖ adds two', '-1 !== 3', 'actual: -1', 'expected: 3', 'test/add.test.js:4'],
  ],
  [
    'node --test as TAP',
    [
      ...lines(150, (n) => `ok ${n} - fails early ${n}\n  ---\n  duration_ms: 1\n  ...`),
      'not ok 151 - adds two',
      '  ---',
      "  location: '/w/add.test.js:4:1'",
      "  failureType: 'testCodeFailure'",
      '  error: |-',
      '    Expected values to be strictly equal:',
      '    ',
      '    -1 !== 3',
      '    ',
      "  code: 'ERR_ASSERTION'",
      '  expected: 3',
      '  actual: -1',
      '  ...',
      ...lines(150, (n) => `ok ${n + 151} - passes\n  ---\n  duration_ms: 1\n  ...`),
      '# fail 1',
    ],
    ['not ok 151 - adds two', '-1 !== 3', 'expected: 3', 'actual: -1', '/w/add.test.js:4:1'],
  ],
  [
    'pytest',
    [
      ...lines(200, (n) => `test_big.py::test_error[${n}] PASSED   [ 3%]`),
      'test_big.py::test_case FAILED     [ 58%]',
      ...lines(200, (n) => `test_big.py::test_more[${n}] PASSED   [ 99%]`),
      '=========== FAILURES ===========',
      '__________ test_case __________',
      '',
      '    def test_case():',
      '>       assert add(1, 2) == 3',
      'E       assert -1 == 3',
      'E        +  where -1 = add(1, 2)',
      '',
      'test_big.py:4: AssertionError',
      ...lines(100, (n) => `captured chatter ${n} of the program`),
      'FAILED test_big.py::test_case - assert -1 == 3',
    ],
    ['test_case', 'E       assert -1 == 3', 'test_big.py:4'],
  ],
  [
    'unittest',
    [
      ...lines(200, (n) => `test_${n} (test_calc.Add.test_${n}) ... ok`),
      'FAIL: test_two (test_calc.Add.test_two)',
      '----------------------------------------',
      'Traceback (most recent call last):',
      '  File "/w/test_calc.py", line 7, in test_two',
      '    self.assertEqual(add(2, 2), 4)',
      'AssertionError: 0 != 4',
      '',
      ...lines(200, (n) => `chatter ${n} that a thread prints`),
      'FAILED (failures=1)',
    ],
    ['FAIL: test_two', 'test_calc.py", line 7', '0 != 4'],
  ],
  [
    'go test',
    [
      ...lines(200, (n) => `=== RUN   TestError${n}\n--- PASS: TestError${n} (0.00s)`),
      '=== RUN   TestAdd',
      '    add_test.go:8: Add(1, 2) = -1; want 3',
      '--- FAIL: TestAdd (0.00s)',
      ...lines(200, (n) => `=== RUN   TestMore${n}\n--- PASS: TestMore${n} (0.00s)`),
      'FAIL',
    ],
    ['--- FAIL: TestAdd', 'add_test.go:8: Add(1, 2) = -1; want 3'],
  ],
  [
    'cargo test',
    [
      ...lines(200, (n) => `test tests::fails_well_${n} ... ok`),
      'test tests::adds ... FAILED',
      ...lines(200, (n) => `test tests::more_${n} ... ok`),
      '---- tests::adds stdout ----',
      "thread 'tests::adds' panicked at src/lib.rs:10:9:",
      'assertion `left == right` failed',
      '  left: -1',
      ' right: 3',
      ...lines(200, (n) => `chatter ${n} of a build script`),
      'test result: FAILED. 400 passed; 1 failed; 0 ignored',
    ],
    ['tests::adds ... FAILED', 'src/lib.rs:10:9', 'left: -1', 'right: 3'],
  ],
  [
    'jest',
    [
      ...lines(200, (n) => `  ✓ case ${n} throws an error (1 ms)`),
      '  ✕ adds (1 ms)',
      ...lines(200, (n) => `  ✓ more ${n} (1 ms)`),
      '  ● adds',
      '',
      '    expect(received).toBe(expected) // Object.is equality',
      '',
      '    Expected: 3',
      '    Received: -1',
      '',
      '    > 4 |   expect(add(1, 2)).toBe(3);',
      '        |                     ^',
      '      at Object.toBe (a.test.js:4:21)',
      ...lines(200, (n) => `chatter ${n} in the console`),
      'Tests: 1 failed, 400 passed, 401 total',
    ],
    ['● adds', 'Expected: 3', 'Received: -1', 'a.test.js:4:21'],
  ],
  [
    'a compiler',
    [
      ...lines(400, (n) => `[${n}/400] compiling unit${n}.c`),
      "b.c:3:5: error: 'x' undeclared",
      'cc: stopped',
    ],
    ["b.c:3:5: error: 'x' undeclared"],
  ],
  [
    'tsc',
    [
      ...lines(300, (n) => `/w/node_modules/lib/types-${n}.d.ts`),
      "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.",
      ...lines(300, (n) => `/w/node_modules/lib/more-${n}.d.ts`),
    ],
    ['src/a.ts(3,5): error TS2322'],
  ],
  [
    'a linter that names the file above its findings',
    [
      ...lines(60, (n) => `/w/file${n}.js\n  3:5  warning  Unexpected console statement\n`),
      '/w/wrong.js',
      "  11:9  error    'foo' is not defined  no-undef",
      '',
      ...lines(60, (n) => `/w/more${n}.js\n  3:5  warning  Unexpected console statement\n`),
      '✖ 121 problems (1 error, 120 warnings)',
    ],
    ['/w/wrong.js', "11:9  error    'foo' is not defined"],
  ],
  [
    'a script that logs',
    [
      ...lines(300, (n) => `12:00:01 INFO step ${n} done`),
      '12:00:02 ERROR table users has no column email (schema.sql:12)',
      ...lines(300, (n) => `12:00:03 INFO cleaning up ${n}`),
    ],
    ['ERROR table users has no column email (schema.sql:12)'],
  ],
  [
    'a runner that reports nothing else of the kind',
    [
      ...lines(300, (n) => `step ${n} done`),
      '  1) adds',
      '     the sum was 4 but must not be',
      '     Actual   4',
      ...lines(300, (n) => `cleaning up ${n}`),
    ],
    ['1) adds', 'Actual   4'],
  ],
];

describe('a long output', () => {
  test.for(reports)('of %s shows what failed', ([, said, wanted]) => {
    const text = said.join('\n');
    expect(Buffer.byteLength(text)).toBeGreaterThan(7000);
    const shown = failureExcerpt(text, { most: 3000, whole: 't/tool.stdout.txt' });
    expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(3000);
    for (const part of wanted) expect(shown).toContain(part);
    expect(shown).toContain('t/tool.stdout.txt');
    // What failed comes before the beginning of the output.
    expect(shown.indexOf(wanted[0] ?? '')).toBeLessThan(shown.indexOf('[beginning and end of'));
  });

  test('names every one of sixty failing tests', () => {
    const one = (n: number) =>
      `not ok ${n} - case ${n} of the parser\n  ---\n  location: 'a.test.js:${n}:1'\n  error: '${n} == 999'\n  expected: 999\n  actual: ${n}\n  stack: |-\n${'    Test.run (node:internal/test_runner/test:796:25)\n'.repeat(8)}  ...`;
    const shown = failureExcerpt(lines(60, one).join('\n'));
    for (let n = 0; n < 60; n++) expect(shown).toContain(`case ${n} of the parser`);
    expect(shown).toContain("error: '5 == 999'");
  });

  test('of many lines alike does not hide the one that differs', () => {
    const text = [
      ...lines(2000, (n) => `ERROR: try ${n}: the server is busy`),
      'not ok 1 - adds',
      ...lines(2000, (n) => `ERROR: try ${n}: the server is busy`),
    ].join('\n');
    expect(failureExcerpt(text)).toContain('not ok 1 - adds');
  });

  test('without a failure keeps its beginning and its end', () => {
    const text = [
      'BEGINNING',
      ...lines(2000, (n) => `ok ${n} - rejects an error of kind ${n}`),
      '# fail 0',
      '0 errors, 0 failed, no problems',
      'END',
    ].join('\n');
    const shown = failureExcerpt(text);
    expect(shown).toMatch(/^\[beginning and end of \d+ bytes\]\nBEGINNING\nok 0 /);
    expect(shown).toMatch(/\n# fail 0\n0 errors, 0 failed, no problems\nEND$/);
    expect(shown).toMatch(/\n\[… \d+ lines …\]\n/);
    expect(shown).not.toContain('lines that say what failed');
    expect(Buffer.byteLength(shown)).toBeGreaterThan(7000);
  });

  test('keeps beginning and end with what failed', () => {
    const noise = lines(2000, (n) => `warning: expected attribute ${n} is missing`);
    const shown = failureExcerpt(['BEGINNING', ...noise, 'END'].join('\n'));
    expect(shown).toMatch(/\nBEGINNING\n[\s\S]*\nEND$/);
    expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(8192);
  });

  test('in one line is cut around its error, never within a character', () => {
    const shown = failureExcerpt(`${'😀'.repeat(4000)} error: no column email ${'😀'.repeat(4000)}`);
    expect(shown).toContain('error: no column email');
    expect(shown).toContain('characters …]');
    expect(shown).not.toContain('\ufffd');
    expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(8192);
  });
});

test('a progress bar does not push the error out, and of it the last state is shown', () => {
  const bar = lines(3000, (n) => `\rReceiving objects: ${n} of 3000`).join('');
  expect(failureExcerpt(`\u001b[31mERROR\u001b[0m: no column email\r\n${bar}`)).toBe(
    'ERROR: no column email\nReceiving objects: 2999 of 3000',
  );
});

test('a short output is shown whole', () => {
  expect(failureExcerpt('  one\n\n  two\n', { whole: 'x' })).toBe('one\n\n  two');
});

const frames = ['  File "/w/a.py", line 3, in <module>', '    add("x")', '    ^^^^^^^^'];
const head = 'Traceback (most recent call last):';
test.for<readonly [string, readonly string[], string]>([
  ['an uncaught exception', [head, ...frames, 'ValueError: no column'], 'ValueError: no column'],
  ['one without a message', [head, ...frames, 'AssertionError'], 'AssertionError'],
  ['one of another name', [head, ...frames, 'shop.OutOfStock: 0 left'], 'shop.OutOfStock: 0 left'],
  ['one whose name begins with Keyboard', ['x', head, ...frames, 'KeyboardInterrupt'], 'KeyboardInterrupt'],
  [
    'an exception in a handler',
    [
      ...[head, ...frames, "KeyError: 'a'", ''],
      ...['During handling of the above exception, another exception occurred:', ''],
      ...[head, ...frames, 'RuntimeError: no config', 'second line'],
    ],
    'RuntimeError: no config',
  ],
  [
    'an exception with a cause',
    [
      ...[head, ...frames, 'OSError: gone', ''],
      ...['The above exception was the direct cause of the following exception:', ''],
      ...[head, ...frames, 'LoadError: a.json'],
    ],
    'LoadError: a.json',
  ],
  [
    'a group of exceptions',
    [
      `  + Exception Group ${head}`,
      '  |   File "/w/a.py", line 3',
      '  | ExceptionGroup: two (2 sub-exceptions)',
      '  +-+---- 1 ----',
    ],
    'ExceptionGroup: two (2 sub-exceptions)',
  ],
  [
    'a group of exceptions at the beginning of an output',
    [
      `+ Exception Group ${head}`,
      '  |   File "/w/a.py", line 3',
      '  |     raise ExceptionGroup("two", [])',
      '  | ExceptionGroup: two (2 sub-exceptions)',
      '  +-+---- 1 ----',
    ],
    'ExceptionGroup: two (2 sub-exceptions)',
  ],
  [
    'a script of npm that is named like a failure',
    ['> fail', '> node e.js', '', 'TypeError: boom'],
    'TypeError: boom',
  ],
  ['make', ["make: *** No rule to make target 'x'.  Stop."], "make: *** No rule to make target 'x'.  Stop."],
  ['a shell', ['u.sh: 1: X: parameter not set'], 'u.sh: 1: X: parameter not set'],
  [
    'a text that Node threw',
    [
      '/w/a.js:1',
      'throw "no key: invalid"',
      '^',
      'no key: invalid',
      '(Use `node --trace-uncaught ...` to show where the exception was thrown)',
    ],
    'throw "no key: invalid"',
  ],
  [
    'the first of two that were logged',
    [head, ...frames, 'TypeError: one', head, ...frames, 'TypeError: two'],
    'TypeError: one',
  ],
  ['a traceback that is cut', [head, ...frames], head],
  [
    'a failed test',
    ['FAIL: test_a (t.T)', '----', head, ...frames, 'AssertionError: 1 != 2'],
    'FAIL: test_a (t.T)',
  ],
  [
    'npm of before',
    [
      'npm ERR! code ELIFECYCLE',
      'npm ERR! errno 1',
      'npm ERR! missing script: tset',
      'npm ERR! A complete log of this run',
    ],
    'npm ERR! missing script: tset',
  ],
  [
    'npm of today',
    [
      'npm error code E404',
      'npm error 404 Not Found - GET https://registry/x',
      'npm error path /w',
      'npm error command failed',
    ],
    'npm error 404 Not Found - GET https://registry/x',
  ],
  [
    'a script that npm ran',
    [
      '> p@1.0.0 test',
      '> node t.js',
      'expected 5, got 4',
      'npm error Lifecycle script `test` failed with error:',
      'npm error code 1',
    ],
    'expected 5, got 4',
  ],
])('the telling line of %s', ([, output, wanted]) => {
  expect(failureLine(output.join('\n'))).toBe(wanted);
});
