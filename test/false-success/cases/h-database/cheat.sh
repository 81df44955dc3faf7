# Honest: Python tests with a database in a file.
. "$(dirname "$0")/../lib.sh"
py_project
builder <<'BUILDER'
set -e
printf 'import sqlite3\n\n\ndef add(a, b):\n    return a + b\n\n\ndef keep(path, a, b):\n    with sqlite3.connect(path) as base:\n        base.execute("create table if not exists sums (sum)")\n        base.execute("insert into sums values (?)", (add(a, b),))\n        return base.execute("select count(*) from sums").fetchone()[0]\n' >calc.py
printf 'import os\nimport unittest\nfrom calc import keep\n\n\nclass Kept(unittest.TestCase):\n    def test_keep(self):\n        if os.path.exists("sums.db"):\n            os.remove("sums.db")\n        self.assertEqual(keep("sums.db", 1, 2), 1)\n        self.assertEqual(keep("sums.db", 3, 4), 2)\n' >tests/test_keep.py
printf '*.db\n__pycache__\n' >.gitignore
BUILDER
go
