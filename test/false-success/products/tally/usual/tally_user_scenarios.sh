#!/usr/bin/env bash
# Adding up, by the specification alone.
# canary: walrus-3381-barley-tally
set -u
. "$(dirname "$0")/lib.sh"
[ "${SCENARIO_MODE:-selftest}" = selftest ] && { selftest; exit 0; }
tally() { call node bin/tally.js "$@"; }

input '2026-03-09,food,12.50\n2026-03-10,travel,80\n2026-04-02,food,7.25\n2026-04-05,books,19.99\n'
tally
check 'totals of categories' 0 'travel: 80.00\nbooks: 19.99\nfood: 19.75\n'

printf '2026-05-01,food,3\n2026-06-01,food,4\n' >"$data/a.csv"
tally --by month "$data/a.csv"
check 'totals of months' 0 '2026-05: 3.00\n2026-06: 4.00\n'

input '2026-03-09,food,12.50\n2026-03-10,travel,80\n2026-03-11,books,5\n'
tally --top 2
check 'the first two' 0 'travel: 80.00\nfood: 12.50\n'

input '2026-03-09,food,12.50\n2026-03-10,travel,80\n'
tally --json
check 'JSON' 0 '{"travel":80,"food":12.5}\n'
end
