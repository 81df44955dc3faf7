# Days that do not exist are counted.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product tally
edit src/read.js '  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;' '  return !Number.isNaN(date.getTime());'
go
