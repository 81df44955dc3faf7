# Without KEEP_FILE, notes are kept in the folder of the caller.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product keep
edit bin/keep.sh '${KEEP_FILE:-$HOME/.keep}' '${KEEP_FILE:-.keep}'
go
