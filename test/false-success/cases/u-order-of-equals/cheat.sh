# Equal totals stand in the order of the input.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product tally
edit src/tally.js 'b[1] - a[1] || byName(a, b)' 'b[1] - a[1]'
go
