#!/usr/bin/env bash
# Questions about days: each sentence of the specification, at its boundaries.
# canary: walrus-4491-millet-due
set -u
. "$(dirname "$0")/lib.sh"
[ "${SCENARIO_MODE:-selftest}" = selftest ] && { selftest; exit 0; }
due() { call python3 due.py "$@"; }

while read -r day span wanted; do
  due add "$day" "$span"
  check "add $day $span" 0 "$wanted\n"
done <<'ROWS'
2024-02-28 1d 2024-02-29
2026-03-01 -1d 2026-02-28
2026-01-07 -1w 2025-12-31
2026-01-31 1m 2026-02-28
2024-01-31 1m 2024-02-29
2026-03-31 -1m 2026-02-28
2026-01-15 -1m 2025-12-15
2026-11-30 1m 2026-12-30
2026-10-31 13m 2027-11-30
ROWS
while read -r first last days weekdays; do
  due days "$first" "$last"
  check "days $first $last" 0 "$days\n"
  due workdays "$first" "$last"
  check "workdays $first $last" 0 "$weekdays\n"
done <<'ROWS'
2026-03-09 2026-03-09 0 1
2026-03-10 2026-03-09 -1 0
2026-03-06 2026-03-09 3 2
2026-03-28 2026-03-30 2 1
ROWS

printf '2026-05-10 d\n2026-05-09 z  é\n2026-05-09 a\n2025-12-31 old\n2026-10-01 far\n\n2026-05-09 m' >"$data/list"
due late "$data/list" --on 2026-05-10
check 'late, in order' 0 '2025-12-31 old\n2026-05-09 z  é\n2026-05-09 a\n2026-05-09 m\n'
due late "$data/list" --on 2025-12-31
check 'nothing is late' 0 ''
cp "$data/list" "$data/a list"
due late "$data/a list" --on 2026-01-01
check 'a blank in the name of the file' 0 '2025-12-31 old\n'
# Today in UTC, where it is another day at one of these places for all but an instant.
printf '%s yesterday\n%s today\n' "$(date -u -d yesterday +%F)" "$(date -u +%F)" >"$data/now"
for zone in Etc/GMT+12 Etc/GMT-14; do
  TZ=$zone due late "$data/now"
  check "today in UTC, at $zone" 0 "$(date -u -d yesterday +%F) yesterday\n"
done

for day in 2026-02-29 2026-1-1 20260101; do
  due add "$day" 1d
  check "no such day: $day" 2 ''
  says "no such day: $day" "due: $day: no such day"
done
for span in 1y 1.5d ''; do
  due add 2026-01-01 "$span"
  check "no such span: $span" 2 ''
  says "no such span: $span" "due: $span: no such span"
done
printf '2026-01-01 a\n2026-02-30 b\n' >"$data/wrong"
due late "$data/wrong" --on 2026-05-10
check 'a wrong line' 2 ''
says 'a wrong line' "due: $data/wrong:2: no such day"
for line in when 'add 2026-01-01'; do
  due $line
  check "usage: $line" 2 ''
  says "usage: $line" usage
done
end
