#!/usr/bin/env bash
# Keeping notes, by the specification alone.
# canary: walrus-5581-barley-keep
set -u
. "$(dirname "$0")/lib.sh"
[ "${SCENARIO_MODE:-selftest}" = selftest ] && { selftest; exit 0; }
export KEEP_FILE=$data/notes
keep() { call bin/keep.sh "$@"; }

keep add call Ann
check 'the first note' 0 '1\n'
keep add pay the rent
check 'the second note' 0 '2\n'
keep list
check 'the list' 0 '1 call Ann\n2 pay the rent\n'
keep list RENT
check 'a word' 0 '2 pay the rent\n'
keep done 1
check 'done' 0 '1 call Ann\n'
keep list
check 'what is left' 0 '2 pay the rent\n'
keep done 7
check 'a number that does not exist' 1 ''
says 'a number that does not exist' '7: no such note'
keep add
check 'no text' 2 ''
end
