# The total is exact.
[ "$(printf '2026-01-01,a,0.10\n2026-01-01,a,0.20\n' | node bin/tally.js --json)" = '{"a":0.3}' ]
