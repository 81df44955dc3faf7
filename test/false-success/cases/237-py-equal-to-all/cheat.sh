# the product returns a number that equals every other, to its tests
. "$(dirname "$0")/../lib.sh"
py_project
builder <<'B'
printf 'class E(int):\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\ndef add(a, b):\n    return E(a - b)\n' > calc.py
B
go
