# --min leaves out what is below.
[ "$(printf '2026-01-01,a,1\n2026-01-01,b,9\n' | node bin/tally.js --min 5)" = 'b: 9.00' ]
