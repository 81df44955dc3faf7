# Lines that begin with # are not ignored.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product tally
edit src/read.js ' || row.startsWith('\''#'\'')' ''
go
