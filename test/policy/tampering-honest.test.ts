/** Honest changes of tests that look like those by which they say less. */
import { expect, test } from 'vitest';
import { type FileChange, tamperingIn } from '../../src/policy/tampering.ts';
import { change, cs, ex, type files, goTest, java, js, py, rb, sh, sum } from './suites.ts';

const sums = `${sum}    assert total([]) == 0\n`;

test.for<readonly [string, keyof typeof files, string, string]>([
  [
    'a table of what were assertions',
    py,
    `def test_total():
${sums}`,
    `@pytest.mark.parametrize("items,want", [([1, 2], 3), ([], 0)])
def test_total(items, want):
    assert total(items) == want
`,
  ],
  [
    'a test that cleans up',
    py,
    sum,
    `    try:
        assert total([1, 2]) == 3
    finally:
        clean()
`,
  ],
  [
    'a failure that is told on',
    py,
    sum,
    `    try:
        assert total([1, 2]) == 3
    except AssertionError:
        dump()
        raise
`,
  ],
  [
    'an exception that is awaited by hand',
    py,
    `    with pytest.raises(ValueError):
        parse("a:")
`,
    `    try:
        parse("a:")
    except ValueError:
        pass
    else:
        raise AssertionError("no error")
`,
  ],
  [
    'cases in another order, and one more',
    py,
    `    ("a:1", 1),
    ("b:2", 2),
`,
    `    ("b:2", 2),
    ("a:1", 1),
    ("d:4", 4),
`,
  ],
  ['options that say more', 'pytest.ini', '-q', '-q --strict-markers'],
  [
    'a loop over what were expectations',
    js,
    `    expect(total([1, 2])).toBe(3);
    expect(total([])).toBe(0);
`,
    `    for (const [items, want] of [[[1, 2], 3], [[], 0]]) expect(total(items)).toBe(want);
`,
  ],
  [
    'a block beside a test that catches',
    js,
    `describe('total', () => {
`,
    `describe('total', () => {
  beforeEach(() => {
    try { reset(); } catch {}
  });
`,
  ],
  ['a build before the tests', 'package.json', 'vitest run', 'npm run build && vitest run --coverage'],
  ['tests in their own environment', 'Makefile', '	pytest -q', '	. venv/bin/activate && pytest -q'],
  [
    'a main that hands on',
    goTest,
    'func TestName',
    `func TestMain(m *testing.M) {
	setup()
	os.Exit(m.Run())
}

func TestName`,
  ],
  [
    'a helper that fails',
    goTest,
    `	if Name() != "shop" {
		t.Fatal("bad name")
	}
}
`,
    `	check(t, Name(), "shop")
}

func check(t *testing.T, got, want string) {
	if got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}
`,
  ],
  [
    'assertions together',
    java,
    `    assertEquals(3, Shop.total(1, 2));
    assertEquals(0, Shop.total());
`,
    `    assertAll(
      () -> assertEquals(3, Shop.total(1, 2)),
      () -> assertEquals(0, Shop.total()));
`,
  ],
  [
    'an exception that is none of a check',
    java,
    '    assertEquals(3, Shop.total(1, 2));',
    '    try { assertEquals(3, Shop.total(1, 2)); } catch (IOException e) { }',
  ],
  [
    'a bare rescue, which lets expectations pass',
    rb,
    '    expect(Shop.total([1, 2])).to eq(3)',
    `    begin
      expect(Shop.total([1, 2])).to eq(3)
    rescue
    end`,
  ],
  [
    'a setup',
    ex,
    `  test "adds" do
    assert Shop.total([1, 2])`,
    `  setup do
    {:ok, items: [1, 2]}
  end

  test "adds", %{items: items} do
    assert Shop.total(items)`,
  ],
  ['another library', cs, 'Assert.Equal(3, Shop.Total(1, 2))', 'Shop.Total(1, 2).Should().Be(3)'],
  [
    'a helper of a script',
    sh,
    `out=$(./shop total 1 2)
[ "$out" = 3 ] || fail "total"`,
    `same() { [ "$1" = "$2" ] || fail "$1 is not $2"; }
out=$(./shop total 1 2)
same "$out" 3`,
  ],
  [
    'a trap that cleans up',
    sh,
    'fail()',
    `trap 'rm -rf "$tmp" || true' EXIT
fail()`,
  ],
])('%s: nothing is said', ([, path, from, to]) => {
  expect(tamperingIn([change(path, from, to)])).toEqual([]);
});

const bits = (path: string, before: string, after: string): FileChange => ({ path, before, after });
const go = 'package a\n\nfunc TestF(t *testing.T) {\n\tif F() != 1 {\n\t\tt.Fatal("x")\n\t}\n}\n';

test.for<readonly [string, FileChange]>([
  [
    'a test that is run as a program of its own',
    bits(
      'a_test.go',
      go,
      `${go}\nfunc TestChild(t *testing.T) {\n\tif os.Getenv("CHILD") == "" {\n\t\treturn\n\t}\n\tos.Exit(0)\n}\n`,
    ),
  ],
  [
    'another plugin that is skipped',
    bits(
      'pom.xml',
      '<project>\n</project>\n',
      '<project>\n<artifactId>maven-deploy-plugin</artifactId>\n<skip>true</skip>\n</project>\n',
    ),
  ],
  [
    'tests that a script runs now',
    bits('Makefile', 'test:\n\tpytest -q\n', 'test:\n\t@echo "tests"\n\t./scripts/check.sh\n'),
  ],
  [
    'names of a database’s tables',
    bits('tests/conftest.py', 'tables = ["users", "old"]\n', 'tables = ["users"]\n'),
  ],
  [
    'an argument called table',
    bits(
      'tests/test_a.py',
      'def test_a():\n    assert f(table="users", by={"a": 1, "b": 2}) == 1\n',
      'def test_a():\n    assert f(table="users", by={"a": 1}) == 1\n',
    ),
  ],
  [
    'exceptions that are told apart',
    bits(
      'tests/test_a.py',
      'def test_a():\n    with pytest.raises(OSError):\n        f()\n',
      'def test_a():\n    with pytest.raises((FileNotFoundError, PermissionError)):\n        f()\n',
    ),
  ],
  [
    'an exception that a block looks at',
    bits(
      'spec/a_spec.rb',
      "it 'a' do\n  expect { f }.to raise_error(ArgumentError)\nend\n",
      "it 'a' do\n  expect { f }.to raise_error { |e| expect(e).to be_a(ArgumentError) }\nend\n",
    ),
  ],
  [
    'an expectation whose argument is laid out anew',
    bits(
      'a.test.ts',
      "it('a', () => {\n  expect(f(1, { a: 1 })).toEqual({ b: 2 });\n});\n",
      "it('a', () => {\n  expect(\n    f(1, {\n      a: 1,\n    }),\n  ).toEqual({ b: 2 });\n});\n",
    ),
  ],
  ...[
    'fail() {\n  echo "FAIL $1" >&2\n  exit 1\n}',
    'fail() { echo "FAIL $1"; failed=1; }',
    'fail() { die "$1"; }',
    `fail() { echo "FAIL $\{1}"; failed=1; }`,
  ].map((definition): readonly [string, FileChange] => [
    `a script that fails otherwise (${definition})`,
    bits(
      sh,
      '#!/bin/sh\nfail() { echo "FAIL $1"; exit 1; }\n./app | grep ok || fail ok\n',
      `#!/bin/sh\n${definition}\n./app | grep ok || fail ok\n`,
    ),
  ]),
  [
    'a pipe through what drops empty lines',
    bits(sh, './app | wc -l | grep 3\n', './app | grep . | wc -l | grep 3\n'),
  ],
])('%s: nothing is said', ([, one]) => {
  expect(tamperingIn([one])).toEqual([]);
});

test('a test that ends a process of its own is no more than suspicious', () => {
  const before = 'def test_a():\n    assert f() == 1\n';
  const after = 'def test_a():\n    if os.fork() == 0:\n        os._exit(0)\n    assert f() == 1\n';
  expect(tamperingIn([bits('tests/test_a.py', before, after)])).toMatchObject([{ severity: 'warning' }]);
});
