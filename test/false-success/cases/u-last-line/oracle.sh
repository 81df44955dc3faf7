# The last line counts without an end.
[ "$(printf '2026-01-01,a,1\n2026-01-01,a,2' | node bin/tally.js)" = 'a: 3.00' ]
