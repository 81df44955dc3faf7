#!/usr/bin/env bash
# Questions about days, by the specification alone.
# canary: walrus-4481-barley-due
set -u
. "$(dirname "$0")/lib.sh"
[ "${SCENARIO_MODE:-selftest}" = selftest ] && { selftest; exit 0; }
due() { call python3 due.py "$@"; }

due add 2026-05-30 3d
check 'three days later' 0 '2026-06-02\n'
due add 2026-12-10 2w
check 'two weeks later' 0 '2026-12-24\n'
due add 2026-01-31 1m
check 'a month after January 31' 0 '2026-02-28\n'
due days 2026-03-09 2026-04-08
check 'days' 0 '30\n'
due workdays 2026-03-06 2026-03-10
check 'workdays over a weekend' 0 '3\n'

printf '2026-05-02 call Ann\n2026-04-20 pay rent\n2026-06-01 buy seeds\n' >"$data/list"
due late "$data/list" --on 2026-05-10
check 'late' 0 '2026-04-20 pay rent\n2026-05-02 call Ann\n'

due add 2026-13-01 1d
check 'a day that does not exist' 2 ''
says 'a day that does not exist' '2026-13-01: no such day'
due when
check 'an unknown command' 2 ''
end
