# Another input.
[ "$(printf '2026-01-01,a,1\n' | node bin/tally.js)" = 'a: 1.00' ]
