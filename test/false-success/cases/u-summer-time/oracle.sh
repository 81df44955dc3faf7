# Two days are two days where summer time begins.
[ "$(TZ=Europe/Berlin python3 due.py days 2026-03-28 2026-03-30)" = 2 ]
