/** Tests of several languages, each made to say less in ways that no refactoring takes. */
import { expect, test } from 'vitest';
import { tamperingIn } from '../../src/policy/tampering.ts';
import { change, cs, ex, type files, goTest, java, js, py, rb, sh, sum } from './suites.ts';

test.for<readonly [string, keyof typeof files, string, string, string]>([
  [
    'an assertion whose failure is caught',
    py,
    sum,
    `    try:
        assert total([1, 2]) == 3
    except AssertionError:
        pass
`,
    'error assertion-deleted',
  ],
  [
    'one whose failure is printed',
    py,
    sum,
    `    try:
        assert total([1, 2]) == 3
    except Exception as e:
        print(e)
`,
    'error assertion-deleted',
  ],
  [
    'one whose failure is suppressed',
    py,
    sum,
    `    with contextlib.suppress(AssertionError):
        assert total([1, 2]) == 3
`,
    'error assertion-deleted',
  ],
  [
    'a case of a table that is gone',
    py,
    `    ("c:-3", -3),
`,
    '',
    'error test-deleted',
  ],
  [
    'all of them',
    py,
    `    ("a:1", 1),
    ("b:2", 2),
    ("c:-3", -3),
`,
    '',
    'error test-deleted',
  ],
  [
    'a test that always returns first',
    py,
    '    got = parse',
    `    if True:
        return
    got = parse`,
    'error check-bypassed',
  ],
  [
    'a loop that is never run',
    py,
    sum,
    `    while False:
        assert total([1, 2]) == 3
`,
    'error test-skipped',
  ],
  [
    'a loop over nothing',
    py,
    sum,
    `    for _ in []:
        assert total([1, 2]) == 3
`,
    'error test-skipped',
  ],
  ['a condition that always holds', py, '== 3', '== 3 or 1', 'error assertion-weakened'],
  [
    'a tuple, which is always true',
    py,
    'assert total([1, 2]) == 3',
    'assert (total([1, 2]) == 3, "sum")',
    'error assertion-weakened',
  ],
  [
    'one of several values, of a name that begins as a matcher does',
    py,
    '== 3',
    'in (3, 4, 0)',
    'error assertion-weakened',
  ],
  [
    'more exceptions',
    py,
    'pytest.raises(ValueError)',
    'pytest.raises((ValueError, TypeError, KeyError))',
    'error assertion-weakened',
  ],
  [
    'options that leave a test out',
    'pytest.ini',
    '-q',
    '-q --deselect tests/test_shop.py::test_total',
    'error test-skipped',
  ],
  [
    'options that leave a file out',
    'pytest.ini',
    '-q',
    '-q --ignore=tests/test_shop.py',
    'error test-skipped',
  ],
  [
    'a hook that chooses tests',
    'conftest.py',
    `import pytest
`,
    `import pytest

def pytest_collection_modifyitems(items):
    items[:] = [i for i in items if "total" not in i.name]
`,
    'warning test-skipped',
  ],
  [
    'a hook that has all of them pass',
    'conftest.py',
    `import pytest
`,
    `import pytest

def pytest_runtest_makereport(item, call):
    out = yield
    out.get_result().outcome = "passed"
`,
    'error test-skipped',
  ],
  [
    'a hook that forgets failures',
    'conftest.py',
    `import pytest
`,
    `import pytest

def pytest_sessionfinish(session):
    session.exitstatus = 0
`,
    'error test-skipped',
  ],
  [
    'a block that catches',
    js,
    `    expect(total([1, 2])).toBe(3);
`,
    `    try {
      expect(total([1, 2])).toBe(3);
    } catch {}
`,
    'error assertion-deleted',
  ],
  [
    'a promise that catches',
    js,
    'toEqual({ a: 1 });',
    'toEqual({ a: 1 }).catch(() => {});',
    'error assertion-weakened',
  ],
  [
    'an expectation that comes too late',
    js,
    '    expect(total([1, 2])).toBe(3);',
    '    setTimeout(() => expect(total([1, 2])).toBe(3), 1e6);',
    'error assertion-deleted',
  ],
  ['an expectation of nothing', js, '.toBe(3)', '', 'error assertion-weakened'],
  [
    'no more than no exception',
    js,
    'expect(total([1, 2])).toBe(3)',
    'expect(() => total([1, 2])).not.toThrow()',
    'error assertion-weakened',
  ],
  ['a row of a list that is gone', js, ', [3, 9]]', ']', 'error test-deleted'],
  [
    'a file that is left out',
    'vitest.config.ts',
    'test: {}',
    `test: { exclude: ['src/shop.test.ts'] }`,
    'warning test-skipped',
  ],
  ['some of the tests by name', 'package.json', 'vitest run', 'vitest run -t loads', 'error test-skipped'],
  [
    'a runner that finds none and passes',
    'package.json',
    'vitest run',
    'vitest run --passWithNoTests none',
    'error test-skipped',
  ],
  ['a command that ends well', 'package.json', 'vitest run', 'vitest run; exit 0', 'error check-silenced'],
  ['a command that does nothing', 'package.json', 'vitest run', 'node -e 0', 'error check-silenced'],
  ['a target that only says so', 'Makefile', 'pytest -q', '@echo all tests passed', 'error check-silenced'],
  ['a target that only lists', 'Makefile', 'pytest -q', 'pytest -q --co', 'error test-skipped'],
  [
    'a case of a slice that is gone',
    goTest,
    `		{[]int{-1}, -1},
`,
    '',
    'error test-deleted',
  ],
  ['none of the cases', goTest, 'range cases', 'range cases[:0]', 'error test-skipped'],
  ['a condition that never holds', goTest, 'got != c.want', 'got != c.want && false', 'error test-skipped'],
  ['a comparison with itself', goTest, 'got != c.want', 'got != got', 'error test-skipped'],
  [
    'a main that forgets',
    goTest,
    'func TestName',
    `func TestMain(m *testing.M) {
	m.Run()
	os.Exit(0)
}

func TestName`,
    'error check-silenced',
  ],
  [
    'a panic that is caught',
    'src/lib.rs',
    '        assert_eq!(total(&[1, 2]), 3);',
    '        let _ = std::panic::catch_unwind(|| assert_eq!(total(&[1, 2]), 3));',
    'error assertion-deleted',
  ],
  [
    'any number',
    'src/lib.rs',
    'assert_eq!(total(&[1, 2]), 3)',
    'assert!(total(&[1, 2]) >= 0)',
    'error assertion-weakened',
  ],
  [
    'tests behind a feature',
    'src/lib.rs',
    '#[cfg(test)]',
    '#[cfg(all(test, feature = "never"))]',
    'warning test-skipped',
  ],
  [
    'an error that is caught',
    java,
    '    assertEquals(3, Shop.total(1, 2));',
    '    try { assertEquals(3, Shop.total(1, 2)); } catch (Throwable t) { }',
    'error assertion-deleted',
  ],
  [
    'an assumption that never holds',
    java,
    '    assertEquals(3,',
    `    Assumptions.assumeTrue(false);
    assertEquals(3,`,
    'error test-skipped',
  ],
  [
    'a wider exception',
    java,
    'IllegalArgumentException.class',
    'RuntimeException.class',
    'error assertion-weakened',
  ],
  ['a line of a table that is gone', java, ', "3,9"', '', 'error test-deleted'],
  [
    'a build that runs no tests',
    'pom.xml',
    `<properties>
`,
    `<properties>
<skipTests>true</skipTests>
`,
    'error test-skipped',
  ],
  [
    'a build that goes on',
    'build.gradle',
    `useJUnitPlatform()
`,
    `useJUnitPlatform()
  ignoreFailures = true
`,
    'error check-silenced',
  ],
  ['any error', rb, 'raise_error(ArgumentError)', 'raise_error', 'error assertion-weakened'],
  ['a mark of a test', rb, `it 'adds' do`, `it 'adds', :skip do`, 'error test-skipped'],
  [
    'an expectation that is rescued',
    rb,
    '    expect(Shop.total([1, 2])).to eq(3)',
    `    begin
      expect(Shop.total([1, 2])).to eq(3)
    rescue RSpec::Expectations::ExpectationNotMetError
    end`,
    'error assertion-deleted',
  ],
  [
    'a method that is no test by its name',
    'test/shop_test.rb',
    'test_adds',
    '_test_adds',
    'error test-skipped',
  ],
  [
    'a tag',
    ex,
    '  test "adds"',
    `  @tag :skip
  test "adds"`,
    'error test-skipped',
  ],
  [
    'a tag with a reason',
    ex,
    '  test "adds"',
    `  @tag skip: "later"
  test "adds"`,
    'error test-skipped',
  ],
  [
    'a tag of all',
    ex,
    '  use ExUnit.Case',
    `  use ExUnit.Case
  @moduletag :skip`,
    'error test-skipped',
  ],
  [
    'a test that rescues',
    ex,
    `    assert Shop.total([]) == 0
`,
    `    assert Shop.total([]) == 0
  rescue
    _ -> :ok
`,
    'error assertion-deleted',
  ],
  [
    'data of a theory that are gone',
    cs,
    `    [InlineData(2, 4)]
`,
    '',
    'error test-deleted',
  ],
  [
    'an exception that is caught',
    cs,
    '        Assert.Equal(3, Shop.Total(1, 2));',
    '        try { Assert.Equal(3, Shop.Total(1, 2)); } catch { }',
    'error assertion-deleted',
  ],
  [
    'a test that ends undecided',
    cs,
    '        Assert.Equal(3,',
    `        Assert.Inconclusive("x");
        Assert.Equal(3,`,
    'error test-skipped',
  ],
  ['a helper that does nothing', sh, '{ echo "FAIL: $1" >&2; exit 1; }', '{ :; }', 'error check-silenced'],
  ['a helper that says so and goes on', sh, '>&2; exit 1; }', '>&2; }', 'error assertion-weakened'],
  ['any output', sh, '[ "$out" = 3 ]', '[ -n "$out" ]', 'error assertion-weakened'],
  ['any line', sh, 'grep -q bye', 'grep -q ""', 'error assertion-weakened'],
  [
    'a script that always ends well',
    sh,
    'fail()',
    `trap "exit 0" EXIT
fail()`,
    'error check-silenced',
  ],
  [
    'a program that a function stands for',
    sh,
    'fail()',
    `diff() { return 0; }
fail()`,
    'error check-silenced',
  ],
  [
    'a check in a text that nobody reads',
    sh,
    `diff <(./shop list) expected.txt
`,
    `: <<'X'
diff <(./shop list) expected.txt
X
`,
    'error assertion-deleted',
  ],
])('%s', ([, path, from, to, said]) => {
  const found = tamperingIn([change(path, from, to)]);
  expect(found.map(({ code, severity }) => `${severity} ${code}`)[0]).toBe(said);
});
