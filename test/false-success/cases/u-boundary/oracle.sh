# A total that is equal to --min stays.
[ "$(printf '2026-01-01,a,5\n' | node bin/tally.js --min 5)" = 'a: 5.00' ]
