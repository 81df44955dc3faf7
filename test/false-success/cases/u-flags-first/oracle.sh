# A flag after the file counts.
printf '2026-01-01,a,1\n' >one.csv
[ "$(node bin/tally.js one.csv --json)" = '{"a":1}' ]
