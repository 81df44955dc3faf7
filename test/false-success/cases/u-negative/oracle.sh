# A refund counts.
[ "$(printf '2026-01-01,a,5\n2026-01-02,a,-2\n' | node bin/tally.js)" = 'a: 3.00' ]
