/** The finer rules by which a change of tests is told from one that says less: pairs that differ in little. */
import { expect, test } from 'vitest';
import { type FileChange, tamperingIn } from '../../src/policy/tampering.ts';
import { ebb, line, one, path, py, sh, ts, two } from './changed.ts';

const calc = (body: string) => `def test_calc():\n    assert other() == 1\n${body}`;
const loop = '    for n in (1, 2):\n        assert calc(n) == n + 1\n';

const scripts = (name: string, before: string, after: string): readonly FileChange[] => [
  {
    path: 'package.json',
    before: `{\n  "${name}": "${before}"\n}\n`,
    after: `{\n  "${name}": "${after}",\n  "x": 1\n}\n`,
  },
];

const rows: readonly (readonly [string, readonly FileChange[], readonly string[]])[] = [
  [
    'a test that stands in another file, with other words',
    [...py(two, one), { path: 'tests/test_ebb.py', after: 'def test_ebb():\n    assert ebb(7) == 4\n' }],
    [],
  ],
  [
    'a test file of a module that is gone with it',
    [
      { path: 'ebb.py', before: 'def ebb(n=1):\n    return 1\n' },
      { path: 'tests/test_ebb.py', before: ebb },
    ],
    [],
  ],
  ['a file beside tests that has none, gone', [{ path: 'tests/conftest.py', before: 'import sys\n' }], []],
  [
    'a test file that now lies where nobody runs it',
    [
      { path, before: two },
      { path: 'attic/t.bak', after: two },
    ],
    ['error test-file-deleted:1'],
  ],
  [
    'helpers of tests that became a module',
    [
      { path: 'tests/helpers.py', before: 'def same(a, b):\n    assert a == b\n' },
      { path: 'tide/checking.py', after: 'def same(a, b):\n    assert a == b\n' },
    ],
    [],
  ],
  [
    'a test file of which half is elsewhere',
    [
      { path, before: ebb },
      { path: 'tests/test_u.py', after: 'def test_u():\n    assert ebb() == 1\n' },
    ],
    ['error test-file-deleted:1'],
  ],
  [
    'a test file that asserts nothing, of which one test is elsewhere',
    [
      { path, before: 'def test_a():\n    level()\n\ndef test_b():\n    ebb()\n' },
      { path: 'tests/test_u.py', after: 'def test_a():\n    level()\n' },
    ],
    ['error test-file-deleted:1'],
  ],
  ['a test of which half went into another one', py(two, `${one}    assert ebb() == 1\n`), []],
  [
    'a test that asserts nothing, gone',
    py(`${one}\ndef test_runs():\n    level()\n`, one),
    ['warning test-deleted:4'],
  ],
  [
    'a test that is gone while another one asserts more',
    py(
      `${one}\ndef test_ebb():\n    assert ebb() == 1\n`,
      `${one}    assert level(1) == 4\n    assert level(2) == 5\n`,
    ),
    ['error test-deleted:4'],
  ],
  [
    'a test that became rows of a table',
    py(`${calc('')}\ndef test_b():\n    assert calc(1) == 2\n    assert calc(2) == 3\n`, calc(loop)),
    ['warning test-deleted:4'],
  ],
  [
    'a test of which one half became rows of a table',
    py(`${calc('')}\ndef test_b():\n    assert calc(1) == 2\n    assert neg(2) == -2\n`, calc(loop)),
    ['error test-deleted:4'],
  ],
  [
    'assertions that became rows which say nothing',
    py(
      calc('    assert calc(1) == 2\n    assert calc(2) == 3\n'),
      calc('    for n in (1, 2):\n        assert calc(n) == calc(n)\n'),
    ),
    ['error assertion-weakened:4', 'error assertion-deleted:1'],
  ],
  [
    'assertions that became rows which say less',
    py(
      calc('    assert calc(1) == 2\n    assert calc(2) == 3\n'),
      calc('    for n in (1, 2):\n        assert calc(n) >= n\n'),
    ),
    ['error assertion-weakened:4', 'error assertion-deleted:1'],
  ],
  [
    'an assertion that is gone beside a loop about something else',
    py(
      calc('    assert calc(1) == 2\n    assert calc(2) == 3\n'),
      calc('    assert calc(1) == 2\n    for n in (1, 2):\n        wait(n)\n'),
    ),
    ['error assertion-deleted:1'],
  ],
  [
    'an assertion about a name that is gone, made to say less',
    [
      { path: 'tide.py', before: 'def ebb(n):\n    return n\n', after: 'def flow(n):\n    return n\n' },
      ...line('assert level(ebb) == 5', 'assert level(ebb) >= 0'),
    ],
    ['error assertion-weakened:2'],
  ],
  [
    'a test of a function that now comes from elsewhere, gone',
    [
      {
        path: 'tide.py',
        before: 'def ebb(n=1):\n    return 1\n\ndef low():\n    return ebb()\n',
        after: 'from sea import ebb\n\ndef low():\n    return ebb()\n',
      },
      ...py(two, one),
    ],
    ['error test-deleted:5'],
  ],
  [
    'a test of a word that is gone from a text',
    [{ path: 'notes.md', before: 'let ebb be the tide\n', after: '\n' }, ...py(two, one)],
    ['error test-deleted:5'],
  ],
  [
    'a second skip in the words of the first',
    py(`@skip("later")\n${one}\n${ebb}`, `@skip("later")\n${one}\n@skip("later")\n${ebb}`),
    ['error test-skipped:5'],
  ],
  [
    'a new test that returns at once',
    py(one, `${one}\ndef test_new():\n    return\n    assert ebb() == 1\n`),
    [],
  ],
  [
    'a return before the first assertions that a test has had',
    py('def test_level():\n    level()\n', 'def test_level():\n    return\n    assert level() == 3\n'),
    [],
  ],
  [
    'a check that is gone from a script',
    sh('diff want got\ngrep -q x got\n', 'diff want got\n'),
    ['error assertion-deleted:1'],
  ],
  [
    'an assertion that went from one test into the next',
    py(
      `def test_a():\n    assert level() == 3\n    assert ebb() == 1\n\ndef test_b():\n    assert tide() == 2\n`,
      `def test_a():\n    assert level() == 3\n\ndef test_b():\n    assert tide() == 2\n    assert ebb() == 1\n`,
    ),
    [],
  ],
  [
    'two assertions in whose place one other stands',
    py(
      'def test_level():\n    assert level(1) == 1\n    assert level(2) == 2\n',
      'def test_level():\n    assert level(3) == 3\n',
    ),
    ['error assertion-deleted:1'],
  ],
  [
    'a test that another one calls',
    py(two, two.replace('def test_ebb', 'def run_test_ebb').replace('== 3\n', '== 3\n    run_test_ebb()\n')),
    [],
  ],
  [
    'a test that is called by its name',
    py(two, `${two.replace('def test_ebb', 'def xtest_ebb')}\nrun("test_ebb")\n`),
    [],
  ],
  [
    'any exception, as before',
    line('with pytest.raises(Exception): calc(-1)', 'with pytest.raises(Exception): calc(-2)'),
    [],
  ],
  ['more digits', ts('expect(level()).toBeCloseTo(3.2, 2)', 'expect(level()).toBeCloseTo(3.2, 5)'), []],
  [
    'a list that is filtered',
    line('assert level() == [3]', 'assert [x for x in level() if x > 2] == [3]'),
    [],
  ],
  [
    'membership without brackets',
    line('assert level == five', 'assert level in five'),
    ['error assertion-weakened:2'],
  ],
  [
    'a tolerance that is narrower, of another call',
    line('assert level() == approx(3, abs=0.5)', 'assert level(1) == approx(3, abs=0.1)'),
    [],
  ],
  ['nothing, in other words', line('assert True', 'assert 1 == 1'), []],
  [
    'a value that is itself',
    line('assert level == tide', 'assert level == level'),
    ['error assertion-weakened:2'],
  ],
  [
    'a check in a test of another language',
    [{ path: 'tests/run.rb', before: 'sh "diff -u want got"\n', after: 'sh "diff -u want got || true"\n' }],
    ['error check-silenced:1'],
  ],
  [
    'a command that may fail, beside the one that may not',
    sh('diff want got\n', 'diff want got\ndiff want got || true\n'),
    [],
  ],
  ['a script for tests that ran none before', scripts('test', 'exit 0', 'exit 0'), []],
  [
    'a script for some tests that runs none',
    scripts('test:unit', 'vitest', 'true'),
    ['error check-silenced:2'],
  ],
  ['a check that exits well', sh('diff want got\n', 'diff want got || exit 0\n'), ['error check-silenced:2']],
  [
    'a check that returns well',
    sh('diff want got\n', 'diff want got || return 0\n'),
    ['error check-silenced:2'],
  ],
  ['a check before what is true', sh('diff want got\n', 'diff want got; true\n'), ['error check-silenced:2']],
  [
    'a script that went on after failures now and then',
    sh('set -e\nset +e\na\nset -e\ndiff a b\n', 'set -e\nset +e\na\nb\nset -e\ndiff a b\n'),
    [],
  ],
  [
    'a script that no longer says that it stops',
    sh('set -e\ndiff a b\n', 'diff a b\n'),
    ['warning check-silenced:1'],
  ],
];

test.for(rows)('%s', ([, changes, said]) => {
  expect(tamperingIn(changes).map(({ code, severity, line: at }) => `${severity} ${code}:${at}`)).toEqual(
    said,
  );
});
