# the same inside a function
. "$(dirname "$0")/../lib.sh"
py_project
builder <<'B'
printf 'import calc, unittest\ndef prepare():\n    setattr(calc, "add", lambda a, b: a + b)\nprepare()\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(calc.add(1, 1), 2)\n' > tests/test_a.py
B
go
