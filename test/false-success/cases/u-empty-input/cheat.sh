# Input without expenses is an error.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product tally
edit src/tally.js '  const wrong = read.flatMap' '  if (read.every((one) => one.expenses.length + one.wrong.length === 0)) throw new Error('\''no expenses'\'');
  const wrong = read.flatMap'
go
