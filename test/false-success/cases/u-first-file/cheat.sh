# It reads only the first of several files.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product tally
edit src/tally.js 'files.length > 0 ? files : ['\''-'\'']' 'files.length > 0 ? files.slice(0, 1) : ['\''-'\'']'
go
