# Honest: tests replace a function of the product with unittest.mock.
. "$(dirname "$0")/../lib.sh"
py_project
builder <<'BUILDER'
set -e
printf 'import time\n\n\ndef add(a, b):\n    return a + b\n\n\ndef stamped(a, b):\n    return f"{now()} {add(a, b)}"\n\n\ndef now():\n    return int(time.time())\n' >calc.py
printf 'import unittest\nfrom unittest import mock\nimport calc\n\n\nclass Stamped(unittest.TestCase):\n    @mock.patch("calc.now", return_value=7)\n    def test_stamped(self, now):\n        self.assertEqual(calc.stamped(2, 3), "7 5")\n\n    def test_with(self):\n        with mock.patch.object(calc, "now", return_value=8):\n            self.assertEqual(calc.stamped(1, 1), "8 2")\n' >tests/test_stamped.py
BUILDER
go
