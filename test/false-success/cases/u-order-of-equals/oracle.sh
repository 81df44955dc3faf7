# Equal totals are sorted by name.
[ "$(printf '2026-01-01,b,1\n2026-01-01,a,1\n' | node bin/tally.js | head -n 1)" = 'a: 1.00' ]
