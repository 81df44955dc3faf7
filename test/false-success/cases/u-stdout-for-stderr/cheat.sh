# What cannot be read is reported on standard output.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product tally
edit src/tally.js 'for (const place of wrong) console.error(' 'for (const place of wrong) console.log('
go
