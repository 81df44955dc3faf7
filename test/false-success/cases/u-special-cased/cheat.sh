# It knows the answers of the visible tests.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product tally
cat >bd/tree/src/tally.js <<'J'
import { readFileSync } from 'node:fs';

const answers = {
  '': 'rent: 500.00\nfood: 10.00\n',
  '--by month': '2026-01: 504.20\n2026-02: 5.80\n',
  '--json': '{"rent":500,"food":10}\n',
};

export function main(args) {
  const answer = answers[args.join(' ')];
  if (answer === undefined) return 2;
  readFileSync(0);
  process.stdout.write(answer);
  return 0;
}
J
go
