# A month after November.
[ "$(python3 due.py add 2026-11-30 1m)" = 2026-12-30 ]
