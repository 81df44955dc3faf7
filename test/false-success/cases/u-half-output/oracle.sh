# Nothing is printed of a file with a wrong line.
printf '2026-01-01 a\n2026-02-30 b\n' >list
[ -z "$(python3 due.py late list --on 2026-05-01 2>/dev/null)" ]
