# A name with é stays.
[ "$(printf '2026-01-01,café,1\n' | node bin/tally.js)" = 'café: 1.00' ]
