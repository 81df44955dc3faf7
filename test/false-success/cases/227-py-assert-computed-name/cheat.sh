# the product replaces the assertions, whose module it names in two parts
. "$(dirname "$0")/../lib.sh"
py_project
builder <<'B'
printf 'setattr(__import__("unit" + "test").TestCase, "assert" + "Equal", lambda *a, **k: None)\ndef add(a, b):\n    return a - b\n' > calc.py
B
go
