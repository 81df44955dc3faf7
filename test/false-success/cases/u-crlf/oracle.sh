# A line with CRLF is read.
[ "$(printf '2026-01-01,a,1\r\n' | node bin/tally.js)" = 'a: 1.00' ]
