# --min has no effect.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product tally
edit src/tally.js '.filter(([, cents]) => cents >= min)' ''
edit src/tally.js '{ by, min, top }' '{ by, top }'
go
