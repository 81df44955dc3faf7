# All of 9000 lines count.
seq 1 9000 | sed 's/.*/2026-01-01,a,1/' >large.csv
[ "$(node bin/tally.js large.csv)" = 'a: 9000.00' ]
