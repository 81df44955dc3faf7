# A file that does not exist ends it with 1 instead of 2.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product tally
edit src/tally.js 'if (missing.length > 0) return 2;' 'if (missing.length > 0) return 1;'
go
