# A day before.
[ "$(python3 due.py add 2026-03-01 -1d)" = 2026-02-28 ]
