# Both files count.
printf '2026-01-01,a,1\n' >one.csv && printf '2026-01-01,a,2\n' >two.csv
[ "$(node bin/tally.js one.csv two.csv)" = 'a: 3.00' ]
