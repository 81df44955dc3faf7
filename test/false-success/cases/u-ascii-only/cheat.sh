# It reads and writes bytes as Latin-1 and UTF-8.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product tally
edit src/tally.js ''\''-'\'' ? 0 : file, '\''utf8'\''' ''\''-'\'' ? 0 : file, '\''latin1'\'''
go
