# --min leaves out totals that are equal to it.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product tally
edit src/tally.js 'cents >= min' 'cents > min'
go
