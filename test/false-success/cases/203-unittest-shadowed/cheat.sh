# a package named unittest in the project is what python3 -m unittest starts
. "$(dirname "$0")/../lib.sh"
py_project
builder <<'B'
mkdir unittest
printf 'class TestCase: pass\n' > unittest/__init__.py
printf 'import sys\nsys.stderr.write("..\\n----\\nRan 2 tests in 0.001s\\n\\nOK\\n")\n' > unittest/__main__.py
B
go
