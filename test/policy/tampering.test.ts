import { expect, test } from 'vitest';
import { tamperingIn } from '../../src/policy/tampering.ts';

const codes = (...changes: Parameters<typeof tamperingIn>[0]) =>
  tamperingIn(changes).map(({ code, severity, line }) => `${severity} ${code}:${line}`);

const py = (body: string) => `from tide import level\n\n\ndef test_level():\n${body}`;
const js = (body: string) =>
  `import { level } from './tide.js';\n\nit('tells the level', () => {\n${body}});\n`;
const go = (body: string) => `package tide\n\nfunc TestLevel(t *testing.T) {\n${body}}\n`;
const rs = (body: string, sign = '#[test]') =>
  `pub fn level() -> u32 { 3 }\n\n#[cfg(test)]\nmod tests {\n    ${sign}\n    fn tells_the_level() {\n${body}    }\n}\n`;
const java = (body: string, sign = '@Test') =>
  `class LevelTest {\n    ${sign}\n    void tellsTheLevel() {\n${body}    }\n}\n`;
const rb = (body: string) => `class LevelTest < Minitest::Test\n  def test_level\n${body}  end\nend\n`;
const sh = (body: string) => `#!/bin/sh\nset -eu\n${body}`;

const skip = '@pytest.mark.skip(reason="later")\n';

/** What was done, in which file, before and after, and what is said of it. */
const tampered: readonly (readonly [string, string, string, string, string])[] = [
  [
    'a Python test is skipped',
    'tests/test_tide.py',
    py('    assert level() == 3\n'),
    py('    assert level() == 3\n').replace('def test', `${skip}def test`),
    'test-skipped:4',
  ],
  [
    'a Python test may fail',
    'test_tide.py',
    py('    assert level() == 3\n'),
    py('    assert level() == 3\n').replace('def test', '@pytest.mark.xfail\ndef test'),
    'test-skipped:4',
  ],
  [
    'a unittest is skipped',
    'tests/test_t.py',
    'class T(TestCase):\n    def test_a(self):\n        self.assertEqual(level(), 3)\n',
    'class T(TestCase):\n    @unittest.skip("x")\n    def test_a(self):\n        self.assertEqual(level(), 3)\n',
    'test-skipped:2',
  ],
  [
    'a JavaScript test is skipped',
    'tide.test.js',
    js('  expect(level()).toBe(3);\n'),
    js('  expect(level()).toBe(3);\n').replace("it('", "it.skip('"),
    'test-skipped:3',
  ],
  [
    'a JavaScript test is crossed out',
    'tide.test.js',
    js('  expect(level()).toBe(3);\n'),
    js('  expect(level()).toBe(3);\n').replace("it('", "xit('"),
    'test-skipped:3',
  ],
  [
    'only one test is run',
    'tide.spec.ts',
    js('  expect(level()).toBe(3);\n'),
    // Text that is judged, no test of ours.
    js('  expect(level()).toBe(3);\n').replace("it('", "it.only('"),
    'test-skipped:3',
  ],
  [
    'a Go test is skipped',
    'tide_test.go',
    go('\tif level() != 3 {\n\t\tt.Fatalf("level %d", level())\n\t}\n'),
    go('\tt.Skip("later")\n\tif level() != 3 {\n\t\tt.Fatalf("level %d", level())\n\t}\n'),
    'test-skipped:4',
  ],
  [
    'a Rust test is ignored',
    'src/tide.rs',
    rs('        assert_eq!(level(), 3);\n'),
    rs('        assert_eq!(level(), 3);\n', '#[test]\n    #[ignore]'),
    'test-skipped:6',
  ],
  [
    'a Java test is disabled',
    'src/test/java/LevelTest.java',
    java('        assertEquals(3, level());\n'),
    java('        assertEquals(3, level());\n', '@Disabled\n    @Test'),
    'test-skipped:2',
  ],
  [
    'a C# test is ignored',
    'LevelTests.cs',
    '[Fact]\npublic void Level() {\n  Assert.Equal(3, Level());\n}\n',
    '[Fact(Skip = "later")]\npublic void Level() {\n  Assert.Equal(3, Level());\n}\n',
    'test-skipped:1',
  ],
  [
    'a Ruby test is skipped',
    'test/level_test.rb',
    rb('    assert_equal 3, level\n'),
    rb('    skip "later"\n    assert_equal 3, level\n'),
    'test-skipped:3',
  ],
  [
    'an assertion is gone from Python',
    'tests/test_tide.py',
    py('    assert level() == 3\n    assert level(2) == 5\n'),
    py('    assert level() == 3\n'),
    'assertion-deleted:4',
  ],
  [
    'an assertion became a comment',
    'tests/test_tide.py',
    py('    assert level() == 3\n    assert level(2) == 5\n'),
    py('    assert level() == 3\n    # assert level(2) == 5\n'),
    'assertion-deleted:4',
  ],
  [
    'an assertion is gone from Go',
    'tide_test.go',
    go('\tif level() != 3 {\n\t\tt.Fatalf("level")\n\t}\n\tif tide() != 1 {\n\t\tt.Errorf("tide")\n\t}\n'),
    go('\tif level() != 3 {\n\t\tt.Fatalf("level")\n\t}\n\t_ = tide()\n'),
    'assertion-deleted:3',
  ],
  [
    'all assertions are gone',
    'tide.test.ts',
    js('  expect(level()).toBe(3);\n'),
    js('  level();\n'),
    'assertion-deleted:3',
  ],
  [
    'equality became truth',
    'tide.test.ts',
    js('  expect(level(2)).toBe(5);\n'),
    js('  expect(level(2)).toBeTruthy();\n'),
    'assertion-weakened:4',
  ],
  [
    'equality became being there',
    'tide.test.ts',
    js('  expect(level(2)).toEqual({ a: 5 });\n'),
    js('  expect(level(2)).toBeDefined();\n'),
    'assertion-weakened:4',
  ],
  [
    'equality became nothing',
    'tests/test_t.py',
    py('    self.assertEqual(level(2), 5)\n'),
    py('    self.assertTrue(True)\n'),
    'assertion-weakened:5',
  ],
  [
    'an assertion asserts true',
    'src/tide.rs',
    rs('        assert_eq!(level(), 3);\n'),
    rs('        assert!(true);\n'),
    'assertion-weakened:7',
  ],
  [
    'equality became membership',
    'tests/test_t.py',
    py('    assert level(2) == 5\n'),
    py('    assert level(2) in (4, 5, 6)\n'),
    'assertion-weakened:5',
  ],
  [
    'equality became a bound',
    'tests/test_t.py',
    py('    assert level(2) == 5\n'),
    py('    assert level(2) >= 0\n'),
    'assertion-weakened:5',
  ],
  [
    'a value became not null in Java',
    'src/test/java/LevelTest.java',
    java('        assertEquals(3, level());\n'),
    java('        assertNotNull(level());\n'),
    'assertion-weakened:4',
  ],
  [
    'a tolerance is wider',
    'tests/test_t.py',
    py('    assert level() == pytest.approx(3.2, abs=0.01)\n'),
    py('    assert level() == pytest.approx(3.2, abs=10)\n'),
    'assertion-weakened:5',
  ],
  [
    'fewer digits are compared',
    'tide.test.ts',
    js('  expect(level()).toBeCloseTo(3.2, 5);\n'),
    js('  expect(level()).toBeCloseTo(3.2, 0);\n'),
    'assertion-weakened:4',
  ],
  [
    'a test is gone',
    'tests/test_t.py',
    `${py('    assert level() == 3\n')}\n\ndef test_ebb():\n    assert ebb() == 1\n`,
    py('    assert level() == 3\n'),
    'test-deleted:8',
  ],
  [
    'a check does not matter',
    'tests/run.sh',
    sh('diff -u want got\n'),
    sh('diff -u want got || true\n'),
    'check-silenced:3',
  ],
  [
    'a script leaves before its checks',
    'tests/run.sh',
    sh('./app > got\ndiff -u want got\n'),
    sh('exit 0\n./app > got\ndiff -u want got\n'),
    'check-bypassed:3',
  ],
  [
    'a test returns before its checks',
    'tests/test_t.py',
    py('    got = level()\n    assert got == 3\n'),
    py('    return\n    got = level()\n    assert got == 3\n'),
    'check-bypassed:5',
  ],
  [
    'the command for tests runs none',
    'package.json',
    '{\n  "scripts": {\n    "test": "vitest run"\n  }\n}\n',
    '{\n  "scripts": {\n    "test": "exit 0"\n  }\n}\n',
    'check-silenced:3',
  ],
  [
    'a job of CI cannot fail',
    '.github/workflows/ci.yml',
    'steps:\n  - run: npm test\n',
    'steps:\n  - run: npm test || true\n',
    'check-silenced:2',
  ],
];

test.for(tampered)('%s: it is told', ([, path, before, after, said]) => {
  expect(codes({ path, before, after })).toEqual([`error ${said}`]);
  expect(tamperingIn([{ path, before, after }], () => true).map(({ severity }) => severity)).toEqual([
    'warning',
  ]);
});

test('a test file that is gone is told', () => {
  expect(codes({ path: 'tests/test_t.py', before: py('    assert level() == 3\n') })).toEqual([
    'error test-file-deleted:1',
  ]);
});

test('a script that no longer stops at a failure is suspicious', () => {
  expect(
    codes({ path: 'tests/run.sh', before: sh('diff a b\n'), after: '#!/bin/sh\nset +e\ndiff a b\n' }),
  ).toEqual(['warning check-silenced:2']);
});

const two = `${py('    assert level() == 3\n')}\n\ndef test_ebb():\n    assert ebb() == 1\n    assert ebb(2) == 0\n`;

/** Honest work. */
const honest: readonly (readonly [string, Parameters<typeof tamperingIn>[0]])[] = [
  ['a test is added', [{ path: 'tests/test_t.py', before: py('    assert level() == 3\n'), after: two }]],
  ['a test file is new', [{ path: 'tests/test_t.py', after: two }]],
  [
    'a test file is renamed',
    [
      { path: 'tests/test_t.py', before: two },
      { path: 'tests/unit/test_tide.py', after: two },
    ],
  ],
  [
    'a test file is split',
    [
      { path: 'tests/test_t.py', before: two },
      { path: 'tests/test_level.py', after: py('    assert level() == 3\n') },
      {
        path: 'tests/test_ebb.py',
        after: 'def test_ebb():\n    assert ebb() == 1\n    assert ebb(2) == 0\n',
      },
    ],
  ],
  [
    'a test moves to another file',
    [
      { path: 'tests/test_t.py', before: two, after: py('    assert level() == 3\n') },
      {
        path: 'tests/test_ebb.py',
        after: 'def test_ebb():\n    assert ebb() == 1\n    assert ebb(2) == 0\n',
      },
    ],
  ],
  [
    'a test has another name',
    [{ path: 'tests/test_t.py', before: two, after: two.replace('test_ebb', 'test_ebb_and_flow') }],
  ],
  [
    'a test is laid out anew',
    [
      {
        path: 'a.test.ts',
        before: js('  expect(level(2)).toEqual({ a: 1, b: 2 });\n'),
        after: js('  expect(level(2)).toEqual({\n    a: 1,\n    b: 2,\n  });\n'),
      },
    ],
  ],
  [
    'quotes of another kind',
    [
      {
        path: 'a.test.ts',
        before: js("  expect(level('a')).toBe('b');\n"),
        after: js('  expect(level("a")).toBe("b")\n'),
      },
    ],
  ],
  [
    'an assertion in other words',
    [
      {
        path: 'tests/test_t.py',
        before: py('    self.assertEqual(level(2), 5)\n'),
        after: py('    assert level(2) == 5\n'),
      },
    ],
  ],
  [
    'an assertion that says more',
    [
      {
        path: 'a.test.ts',
        before: js('  expect(level(2)).toBeTruthy();\n'),
        after: js('  expect(level(2)).toBe(5);\n'),
      },
    ],
  ],
  [
    'an assertion made two',
    [
      {
        path: 'tests/test_t.py',
        before: py('    assert level() == (3, 4)\n'),
        after: py('    low, high = level()\n    assert low == 3\n    assert high == 4\n'),
      },
    ],
  ],
  [
    'a tolerance is narrower',
    [
      {
        path: 'tests/test_t.py',
        before: py('    assert level() == approx(3, abs=0.5)\n'),
        after: py('    assert level() == approx(3, abs=0.01)\n'),
      },
    ],
  ],
  [
    'a skip is taken out',
    [
      {
        path: 'tests/test_t.py',
        before: py('    assert level() == 3\n').replace('def test', `${skip}def test`),
        after: py('    assert level() == 3\n'),
      },
    ],
  ],
  [
    'what was tested is gone',
    [
      {
        path: 'tide.py',
        before: 'def level():\n    return 3\n\ndef ebb(n=1):\n    return 1\n',
        after: 'def level():\n    return 3\n',
      },
      { path: 'tests/test_t.py', before: two, after: py('    assert level() == 3\n') },
    ],
  ],
  [
    'another null',
    [
      {
        path: 'tests/test_t.py',
        before: py('    assert level() == None\n'),
        after: py('    self.assertIsNone(level())\n'),
      },
    ],
  ],
  [
    'a comment in a test',
    [
      {
        path: 'tests/test_t.py',
        before: py('    assert level() == 3\n'),
        after: py('    # The tide is low.\n    assert level() == 3  # three\n'),
      },
    ],
  ],
  [
    'a return at the end of a test',
    [
      {
        path: 'tests/test_t.py',
        before: py('    assert level() == 3\n'),
        after: py('    assert level() == 3\n    return\n'),
      },
    ],
  ],
  [
    'a return under a condition',
    [
      {
        path: 'tests/test_t.py',
        before: py('    assert level() == 3\n'),
        after: py('    if not tide:\n        return\n    assert level() == 3\n'),
      },
    ],
  ],
  [
    'a helper that may fail in a new line',
    [
      {
        path: 'tests/run.sh',
        before: sh('diff want got\n'),
        after: sh('rm -f old || true\ndiff want got\n'),
      },
    ],
  ],
  ['product code', [{ path: 'src/tide.py', before: 'assert x == 1\nassert y == 2\n', after: 'return 3\n' }]],
];

test.for(honest)('%s: nothing is said', ([, changes]) => {
  expect(codes(...changes)).toEqual([]);
});

test('tests that depend on the machine are no more than suspicious', () => {
  const after = py('    assert level() == 3\n').replace(
    'def test',
    '@pytest.mark.skipif(sys.platform == "win32", reason="x")\ndef test',
  );
  expect(codes({ path: 'test_t.py', before: py('    assert level() == 3\n'), after })).toEqual([
    'warning test-skipped:4',
  ]);
});

const calc =
  'def test_a():\n    assert calc(1) == 2\n    assert calc(2) == 3\n\n\ndef test_b():\n    with pytest.raises(ValueError):\n        calc(-1)\n';
/** What is done to a test, with the code of the finding that is an error; none where it is honest. */
test.for([
  ['calc(1) == 2', 'calc(1) == 2 or True', 'assertion-weakened'],
  ['raises(ValueError)', 'raises(Exception)', 'assertion-weakened'],
  ['def test_b', 'def xtest_b', 'test-skipped'],
  ['def test_b', 'def test_negative', undefined],
  [
    '    assert calc(1) == 2\n    assert calc(2) == 3\n',
    '    for n in (1, 2):\n        assert calc(n) == n + 1\n',
    undefined,
  ],
] as const)('%j that becomes %j in a test is told to be what it is', ([from, to, code]) => {
  const found = tamperingIn([{ path: 'tests/test_a.py', before: calc, after: calc.replace(from, to) }]);
  expect(found.find(({ severity }) => severity === 'error')?.code).toBe(code);
});

test('a row of blanks in a script is looked at once', () => {
  const after = `x${' '.repeat(700_000)}y\nnpm test || true\n`;
  const found = tamperingIn([{ path: 'check.sh', before: 'npm test\n', after }]);
  expect(found.map(({ code, line }) => `${code}:${line}`)).toEqual(['check-silenced:2']);
});
