import { expect, test } from 'vitest';
import { isTestFile, testsIn } from '../../../src/core/policy/test-files.ts';

test.for([
  ['test/a.js', true],
  ['src/a.test.ts', true],
  ['test_a.py', true],
  ['a_test.go', true],
  ['src/test/java/ATest.java', true],
  ['spec/a_spec.rb', true],
  ['tests/run.sh', true],
  ['src/a.js', false],
  ['src/latest.py', false],
  ['tests/data.json', false],
  ['node_modules/x/test/a.js', false],
] as const)('whether %s is a test: %s', ([path, wanted]) => {
  expect(isTestFile(path)).toBe(wanted);
});

test.for([
  [
    'JavaScript',
    "describe('d', () => {\n  it('a', () => {});\n  test.each([1])('b %d', () => {});\n});\ntest(name, f);",
    3,
  ],
  ['JavaScript on one line', "describe('d', () => { it('a', f); it('b', f); });", 1],
  [
    'Python',
    'class T(TestCase):\n    def test_a(self):\n        pass\n\nasync def test_b():\n    pass\ndef helper(): pass\n',
    2,
  ],
  ['Go', 'func TestA(t *testing.T) {\n\tt.Run("x", f)\n}\nfunc helper() {}\n', 2],
  ['Rust', '#[test]\nfn a() {}\n#[tokio::test]\nasync fn b() {}\nfn c() {}\n', 2],
  ['Java', '@Test\nvoid a() {}\n@ParameterizedTest\nvoid b(int x) {}\n', 2],
  ['C#', '[Fact]\npublic void A() {}\n[Theory]\npublic void B(int x) {}\n', 2],
  ['Ruby', "describe 'd' do\n  it 'a' do\n  end\n  it('b') { }\nend\n", 2],
  ['shell', 'test_a() {\n  :\n}\n@test "b" {\n}\n', 2],
  ['C++', 'TEST(Suite, A) {}\nTEST_F(F, B) {}\n', 2],
] as const)('tests of %s are counted', ([, text, count]) => {
  expect(testsIn(text).count).toBe(count);
});

const two = "it('a', f);\nit('b', f);\n";
// Texts that the audit counts tests in: none of these calls runs here.
test.for([
  ['a skipped test', "it.skip('a', f);\nit('b', f);\n", 1],
  ['a test marked todo', `${two}it.todo('c');\n`, 2],
  ['a group that is skipped', `describe.skip('d', () => {\n${two}});\n`, 1],
  ['a test that runs alone', "it.only('a', f);\nit('b', f);\n", 1],
  ['a test in a comment', "// it('a', f);\nit('b', f);\n", 1],
  ['tests in a block of comments', `/*\n${two}*/\nit('c', f);\n`, 1],
  ['a marker on a Python test', '@unittest.skip("later")\ndef test_a(): pass\ndef test_b(): pass\n', 1],
  ['a marker that depends on the machine', '@pytest.mark.skipif(x)\ndef test_a(): pass\n', 1],
  ['an ignored Rust test', '#[test]\n#[ignore]\nfn a() {}\n#[test]\nfn b() {}\n', 1],
  ['a text that is not there', undefined, 0],
] as const)('%s does not count as one that runs', ([, text, count]) => {
  expect(testsIn(text).count).toBe(count);
});
