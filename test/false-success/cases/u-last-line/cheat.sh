# It counts only lines that end.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product tally
edit src/read.js 'text.split(/\r?\n/).entries()' 'text.split(/\r?\n/).slice(0, -1).entries()'
go
