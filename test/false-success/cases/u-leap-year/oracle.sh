# A month after January 31 in a leap year.
[ "$(python3 due.py add 2024-01-31 1m)" = 2024-02-29 ]
