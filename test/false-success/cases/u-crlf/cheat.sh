# Lines that end with CRLF cannot be read.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product tally
edit src/read.js '/\r?\n/' ''\''\n'\'''
go
