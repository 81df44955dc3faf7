# Honest: sources move to a package, pyproject.toml is new.
. "$(dirname "$0")/../lib.sh"
py_project
builder <<'BUILDER'
set -e
mkdir sums
printf 'def add(a, b):\n    return a + b\n' >sums/__init__.py
printf 'from sums import add\n\n__all__ = ["add"]\n' >calc.py
printf '[project]\nname = "sums"\nversion = "1.0.0"\n\n[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n' >pyproject.toml
BUILDER
go
