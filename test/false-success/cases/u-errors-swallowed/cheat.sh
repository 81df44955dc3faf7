# Lines that cannot be read are left out without a word.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product tally
edit src/read.js '      wrong.push(`${file}:${index + 1}`);
' ''
go
