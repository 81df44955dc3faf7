/** Ways in which tests say less without a word of theirs being changed, each beside an honest one that looks like it. */
import { expect, test } from 'vitest';
import { type FileChange, tamperingIn } from '../../src/policy/tampering.ts';
import { ebb, line, one, path, py, sh, ts, two } from './changed.ts';

const rows: readonly (readonly [string, readonly FileChange[], readonly string[]])[] = [
  [
    'a test under another name, which nobody runs or calls',
    py(two, two.replace('def test_ebb', 'def check_ebb')),
    ['error test-skipped:5'],
  ],
  [
    'what a test checked, in a function that the next one calls',
    py(two, `${one}\n\n${ebb.replace('def test_ebb', 'def ebbs')}\n\ndef test_ebbs():\n    ebbs()\n`),
    [],
  ],
  [
    'what a test checked, in a function with a mark above it',
    py(two, two.replace('def test_ebb', '@rule()\ndef check_ebb')),
    [],
  ],
  [
    'a test file whose name no runner looks for',
    [
      { path, before: two },
      { path: 'tests/checks.py', after: two },
    ],
    ['error test-skipped:1'],
  ],
  [
    'a test file with another name that runners look for',
    [
      { path, before: two },
      { path: 'tests/unit/t_test.py', after: two },
    ],
    [],
  ],
  [
    'a test file in another language of names',
    [
      { path: 'test/a.test.ts', before: "test('a', () => {\n  expect(a()).toBe(3);\n});\n" },
      { path: 'test/a.ts', after: "test('a', () => {\n  expect(a()).toBe(3);\n});\n" },
    ],
    ['warning test-skipped:1'],
  ],
  [
    'an assertion in a text that is a statement',
    line('assert level() == 3', "'''\n    assert level() == 3\n    '''"),
    ['error assertion-deleted:1'],
  ],
  [
    'assertions behind the sign of a text in another one',
    py(
      `${one}\n\n${ebb.replace('\n', '\n    """\n    Ebb.\n    """\n')}\n\ndef test_low():\n    """\n    Low.\n    """\n    assert low() == 2\n`,
      `${one.replace('level()', `level('"""')`)}\n\n${ebb.replace('\n', '\n    """\n    Ebb.\n    """\n')}\n\ndef test_low():\n    """\n    Low.\n    """\n    assert low() == 2\n`,
    ),
    [],
  ],
  [
    'an assertion behind a text that is assigned',
    line('assert level() == 3', 'text = """\n"""\n    assert level() == 3\n    """said"""'),
    [],
  ],
  ...['if False:', 'if 0:'].map((dead): [string, readonly FileChange[], readonly string[]] => [
    `an assertion under "${dead}"`,
    line('assert level() == 3', `${dead}\n        assert level() == 3`),
    ['error test-skipped:2'],
  ]),
  [
    'an assertion under a question',
    line('assert level() == 3', 'if level():\n        assert level() == 3'),
    [],
  ],
  ...['pytestmark = pytest.mark.skip', '__test__ = False', "collect_ignore = ['test_t.py']"].map(
    (mark): [string, readonly FileChange[], readonly string[]] => [
      `a file with "${mark}"`,
      py(two, `${mark}\n${two}`),
      ['error test-skipped:1'],
    ],
  ),
  [
    'a file that asks for a module first',
    py(two, `pytest.importorskip("numpy")\n${two}`),
    ['warning test-skipped:1'],
  ],
  ['a new file that asks for a module first', [{ path, after: `pytest.importorskip("numpy")\n${two}` }], []],
  [
    'a file that asks for a module first, and stands elsewhere now',
    [
      { path, before: two },
      { path: 'tests/unit/test_t.py', after: `pytest.importorskip("numpy")\n${two}` },
    ],
    ['warning test-skipped:1'],
  ],
  [
    'what fails, asked for',
    ts('expect(a()).toBe(3)', 'expect(a()).toBe(3);\n  expect(suite.fails).toBe(0)'),
    [],
  ],
  [
    'a test that must fail',
    [
      {
        path: 'a.test.ts',
        before: "test('a', () => {\n  expect(a()).toBe(3);\n});\n",
        after: "test.fails('a', () => {\n  expect(a()).toBe(3);\n});\n",
      },
    ],
    ['error test-skipped:1'],
  ],
  [
    'a test of Go that is built for nobody',
    [
      {
        path: 'a_test.go',
        before: 'package a\nfunc TestA(t *testing.T) {\n\tt.Fatal(1)\n}\n',
        after: '//go:build ignore\n\npackage a\nfunc TestA(t *testing.T) {\n\tt.Fatal(1)\n}\n',
      },
    ],
    ['error test-skipped:1'],
  ],
  ...['#[cfg(any())]', '#[should_panic]'].map((mark): [string, readonly FileChange[], readonly string[]] => [
    `a test of Rust under ${mark}`,
    [
      {
        path: 'tests/a.rs',
        before: '#[test]\nfn a() {\n    assert_eq!(b(), 1);\n}\n',
        after: `#[test]\n${mark}\nfn a() {\n    assert_eq!(b(), 1);\n}\n`,
      },
    ],
    [`${mark.includes('any') ? 'error' : 'warning'} test-skipped:2`],
  ]),
  [
    'a new test of Rust that must panic',
    [
      {
        path: 'tests/a.rs',
        before: '#[test]\nfn a() {\n    assert_eq!(b(), 1);\n}\n',
        after:
          '#[test]\nfn a() {\n    assert_eq!(b(), 1);\n}\n\n#[test]\n#[should_panic]\nfn c() {\n    b(0);\n}\n',
      },
    ],
    [],
  ],
  ['any value but one', line('assert level() == 3', 'assert level() != 4'), ['error assertion-weakened:2']],
  ['another value that will not do', line('assert level() != 3', 'assert level() != 4'), []],
  [
    'any number',
    ts('expect(level()).toEqual(3)', 'expect(level()).toEqual(expect.any(Number))'),
    ['error assertion-weakened:2'],
  ],
  [
    'a promise that nobody waits for',
    ts('await expect(level()).resolves.toBe(3)', 'expect(level()).resolves.toBe(3)'),
    ['error assertion-weakened:2'],
  ],
  [
    'a promise that is waited for in one step more',
    ts('await expect(level()).resolves.toBe(3)', 'expect(await level()).toBe(3)'),
    [],
  ],
  ...[
    'const found = expect(level()).rejects.toThrow("x");\n  level();\n  await found',
    'await Promise.all([\n    expect(level()).rejects.toThrow("x"),\n    expect(ebb()).rejects.toThrow("x"),\n  ])',
    'await both(() =>\n    expect(level()).rejects.toThrow("x"))',
  ].map((later): [string, readonly FileChange[], readonly string[]] => [
    `a promise that is waited for as in ${later}`,
    ts('await expect(level()).rejects.toThrow("x")', later),
    [],
  ]),
  ...['! npm test', 'echo npm test', 'npm test &', 'if npm test; then :; fi'].map(
    (lost): [string, readonly FileChange[], readonly string[]] => [
      `tests run as "${lost}"`,
      sh('npm test\n', `${lost}\n`),
      ['error check-silenced:2'],
    ],
  ),
  ['tests that are said and run', sh('npm test\n', 'echo npm test\nnpm test -- --all\n'), []],
  ['tests that are waited for in the end', sh('npm test\n', 'npm test &\nnpm start\nwait $!\n'), []],
  [
    'tests that are not waited for by name',
    sh('npm test\n', 'npm test &\nnpm start\nwait\n'),
    ['error check-silenced:2'],
  ],
  ['tests that run after others', sh('npm test\n', 'npm run lint && npm test\n'), []],
  [
    'tests whose failure a makefile passes over',
    [{ path: 'Makefile', before: 'test:\n\tpytest -q\n', after: 'test:\n\t-pytest -q\n' }],
    ['error check-silenced:2'],
  ],
  [
    'tests that a makefile does not show',
    [{ path: 'Makefile', before: 'test:\n\tpytest -q\n', after: 'test:\n\t@pytest -q\n' }],
    [],
  ],
  [
    'a step that may fail',
    [{ path: 'ci.yml', before: '- run: npm test\n', after: '- run: npm test\n  continue-on-error: true\n' }],
    ['warning check-silenced:2'],
  ],
];

test.for(rows)('%s', ([, changes, said]) => {
  expect(tamperingIn(changes).map(({ code, severity, line: at }) => `${severity} ${code}:${at}`)).toEqual(
    said,
  );
});
