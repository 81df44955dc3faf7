# the product returns a number that equals every other number
. "$(dirname "$0")/../lib.sh"
py_project
builder <<'B'
printf 'class E(int):\n    def __eq__(self, other):\n        return isinstance(other, int)\ndef add(a, b):\n    return E(a - b)\n' > calc.py
B
go
