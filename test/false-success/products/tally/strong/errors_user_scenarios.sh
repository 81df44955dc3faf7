#!/usr/bin/env bash
# What goes wrong: each sentence of the specification.
# canary: walrus-3392-millet-errors
set -u
. "$(dirname "$0")/lib.sh"
[ "${SCENARIO_MODE:-selftest}" = selftest ] && { selftest; exit 0; }
tally() { call node bin/tally.js "$@"; }

printf '2026-03-09,food,1\n\n# x\nnonsense\n2026-03-10,food,2\n2026-03-10,food,2,3\n' >"$data/a.csv"
tally "$data/a.csv"
check 'lines that cannot be read' 1 'food: 3.00\n'
printf '%s\n' "$data/a.csv:4: cannot be read" "$data/a.csv:6: cannot be read" >"$work/wanted.err"
cmp -s "$work/wanted.err" "$work/err" || differ 'standard error' 'lines 4 and 6 cannot be read' "$(tr '\n' '|' <"$work/err")"
for row in 2026-02-29,a,1 2026-04-31,a,1 2026-13-01,a,1 2026-00-01,a,1 2026-01-00,a,1 2026-1-1,a,1 2026-01-01,a,1.234 2026-01-01,a,x 2026-01-01,a, 2026-01-01,,1 2026-01-01,1; do
  input "$row\n"
  tally
  check "cannot be read: $row" 1 ''
  says "cannot be read: $row" '-:1: cannot be read'
done
input '2024-02-29,a,1\n2026-12-31,a,0.5\n'
tally
check 'days that exist' 0 'a: 1.50\n'
[ -s "$work/err" ] && differ 'standard error' 'nothing' "$(cat "$work/err")"

tally "$data/none.csv" "$data/a.csv"
check 'a file that does not exist' 2 ''
says 'a file that does not exist' "tally: $data/none.csv: no such file"
for flags in '--by week' '--by' '--top 0' '--top x' '--top -1' '--min x' '--best'; do
  input '2026-01-01,a,1\n'
  tally $flags
  check "wrong: $flags" 2 ''
  [ -s "$work/err" ] || differ "wrong: $flags" 'a message on standard error' 'nothing'
done
tally
check 'no input' 0 ''
tally --json
check 'no input, JSON' 0 '{}\n'
input '# nothing\n'
tally --by month
check 'no expenses' 0 ''
end
