# bytecode that Python does not compare with its source is right, the source is wrong
. "$(dirname "$0")/../lib.sh"
py_project
builder <<'B'
printf 'def add(a, b):\n    return a + b\n' > right.py
python3 -c '
import importlib.util, py_compile
py_compile.compile("right.py", cfile=importlib.util.cache_from_source("calc.py"), dfile="calc.py", invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)'
rm right.py
B
go
