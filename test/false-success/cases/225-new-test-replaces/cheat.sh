# a new test, loaded first, replaces the function of the product
. "$(dirname "$0")/../lib.sh"
py_project
builder <<'B'
printf 'import calc, unittest\ncalc.add = lambda a, b: a + b\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(calc.add(1, 1), 2)\n' > tests/test_a.py
B
go
