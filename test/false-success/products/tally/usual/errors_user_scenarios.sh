#!/usr/bin/env bash
# What goes wrong, by the specification alone.
# canary: walrus-3382-barley-errors
set -u
. "$(dirname "$0")/lib.sh"
[ "${SCENARIO_MODE:-selftest}" = selftest ] && { selftest; exit 0; }
tally() { call node bin/tally.js "$@"; }

input '2026-03-09,food,1\nnonsense\n2026-03-10,food,2\n'
tally
check 'a line that cannot be read' 1 'food: 3.00\n'
says 'a line that cannot be read' '-:2: cannot be read'

tally "$data/none.csv"
check 'a file that does not exist' 2 ''
says 'a file that does not exist' 'none.csv: no such file'

input ''
tally --by week
check 'a wrong value' 2 ''
end
