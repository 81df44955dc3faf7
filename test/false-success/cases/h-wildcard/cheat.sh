# Honest: a wildcard equals every other value, as mock.ANY does.
. "$(dirname "$0")/../lib.sh"
py_project
builder <<'BUILDER'
set -e
printf 'class Anything:\n    """Stands for any value in a pattern."""\n\n    def __eq__(self, other):\n        return True\n\n    def __hash__(self):\n        return 0\n\n\ndef fits(pattern, values):\n    return all(part == value for part, value in zip(pattern, values))\n\n\ndef add(a, b):\n    return a + b\n' >calc.py
printf 'import unittest\nfrom calc import Anything, fits\n\n\nclass Fits(unittest.TestCase):\n    def test_fits(self):\n        self.assertTrue(fits([1, Anything()], [1, 2]))\n        self.assertFalse(fits([1, Anything()], [3, 2]))\n' >tests/test_fits.py
BUILDER
go
