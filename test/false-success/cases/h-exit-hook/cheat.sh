# Honest: a hook at the exit removes a temporary folder.
. "$(dirname "$0")/../lib.sh"
py_project
builder <<'BUILDER'
set -e
printf 'import atexit\nimport shutil\nimport tempfile\n\n_folder = tempfile.mkdtemp()\natexit.register(shutil.rmtree, _folder, ignore_errors=True)\n\n\ndef add(a, b):\n    with open(f"{_folder}/last", "w") as file:\n        file.write(str(a + b))\n    return a + b\n' >calc.py
BUILDER
go
