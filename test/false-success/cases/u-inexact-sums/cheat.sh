# Sums are binary fractions, which --json shows.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product tally
edit src/tally.js 'totals.set(key, (totals.get(key) ?? 0) + cents);' 'totals.set(key, ((totals.get(key) ?? 0) / 100 + cents / 100) * 100);'
go
