# February 30 cannot be read.
printf '2026-02-30,a,1\n' | node bin/tally.js
[ $? = 1 ]
