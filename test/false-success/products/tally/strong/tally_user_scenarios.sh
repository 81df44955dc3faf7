#!/usr/bin/env bash
# Adding up: each sentence of the specification, at its boundaries.
# canary: walrus-3391-millet-tally
set -u
. "$(dirname "$0")/lib.sh"
[ "${SCENARIO_MODE:-selftest}" = selftest ] && { selftest; exit 0; }
tally() { call node bin/tally.js "$@"; }

input '2026-03-09,food,12.50\n2026-03-10,travel,80\n2026-04-02,food,7.25\n2026-04-05,books,19.99\n'
tally
check 'totals of categories' 0 'travel: 80.00\nbooks: 19.99\nfood: 19.75\n'

# Expected values by another program.
for seed in 1 2 3; do
  awk -v seed=$seed 'BEGIN { srand(seed); for (i = 0; i < 60; i++) printf "2026-%02d-%02d,c%d,%d.%02d\n", 1 + int(rand() * 12), 1 + int(rand() * 28), int(rand() * 7), rand() * 90, rand() * 99 }' >"$data/r.csv"
  tally --by month "$data/r.csv"
  awk -F, '{ split($3, p, "."); t[substr($1, 1, 7)] += p[1] * 100 + p[2] } END { for (k in t) printf "%s: %d.%02d\n", k, t[k] / 100, t[k] % 100 }' "$data/r.csv" | sort >"$work/months"
  check 'drawn expenses by month' 0 "$(cat "$work/months")\n"
  tally "$data/r.csv"
  awk -F, '{ split($3, p, "."); t[$2] += p[1] * 100 + p[2] } END { for (k in t) printf "%d %s: %d.%02d\n", t[k], k, t[k] / 100, t[k] % 100 }' "$data/r.csv" | sort -k1,1nr -k2 | cut -d' ' -f2- >"$work/categories"
  check 'drawn expenses by category' 0 "$(cat "$work/categories")\n"
done

printf '2026-05-01,food,3\n' >"$data/a.csv"
printf '2026-06-01,food,4\n2026-06-02,rent,1' >"$data/b.csv"
tally "$data/a.csv" "$data/b.csv"
check 'two files, the last line without an end' 0 'food: 7.00\nrent: 1.00\n'
printf '2026-06-03,food,5\n' >>"$data/a.csv"
tally "$data/a.csv"
check 'a file that has changed' 0 'food: 8.00\n'

input '# 2026-03-09,food,1\r\n\r\n2026-03-09,food,2\r\n2026-03-09,"tools, new",3\r\n'
tally
check 'comments, blank lines, CRLF, quotes' 0 'tools, new: 3.00\nfood: 2.00\n'
input '2026-03-09,food,10\n2026-03-10,food,-4.25\n2026-03-10,café,-1\n'
tally
check 'refunds' 0 'food: 5.75\ncafé: -1.00\n'
input '2026-03-09,b,2\n2026-03-09,c,2\n2026-03-09,a,2\n'
tally
check 'equal totals by name' 0 'a: 2.00\nb: 2.00\nc: 2.00\n'
for i in 1 2 3 4 5 6 7 8 9 10; do echo '2026-03-09,food,0.10'; done >"$work/in"
tally --json
check 'exact totals' 0 '{"food":1}\n'
for amount in 0.10 0.20; do echo "2026-03-09,food,$amount"; done >"$work/in"
tally --json
check 'exact totals' 0 '{"food":0.3}\n'

input '2026-10-01,a,1\n2025-12-31,a,2\n2026-02-01,a,3\n'
tally --by month
check 'months in order' 0 '2025-12: 2.00\n2026-02: 3.00\n2026-10: 1.00\n'
input '2026-03-09,a,4.99\n2026-03-09,b,5\n2026-03-09,c,5.01\n'
tally --min 5
check 'at least' 0 'c: 5.01\nb: 5.00\n'
printf '2026-03-09,a,1\n2026-03-09,b,2\n2026-03-09,c,3\n' >"$data/c.csv"
tally "$data/c.csv" --top 1
check 'flags after files' 0 'c: 3.00\n'
tally --top 3 --by category "$data/c.csv" --json --min 2
check 'flags together' 0 '{"c":3,"b":2}\n'
tally --by month --top 1 --min 9 "$data/c.csv"
check 'nothing is left' 0 ''

# More than a pipe holds.
seq 1 20000 | awk '{ printf "2026-03-09,category %d,1\n", $1 }' >"$data/large.csv"
"$APP_RUN" node bin/tally.js "$data/large.csv" </dev/null | (sleep 0.2; wc -l) >"$work/out"
echo 0 >"$work/code"
check 'lines of a large output' 0 '20000\n'
end
