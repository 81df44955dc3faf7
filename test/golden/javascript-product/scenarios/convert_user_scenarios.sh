#!/usr/bin/env bash
# canary: sandpiper-thermal-7741
set -u
[ "$SCENARIO_MODE" = selftest ] && exit 0
fails=0
expect() { # input, expected
  observed=$(node "$1/bin/convert.js" "$2" 2>/dev/null)
  [ "$observed" = "$3" ] && return
  printf 'FAIL: %s\n  expected: %s\n  observed: %s\n' "$2" "$3" "$observed"
  fails=1
}
expect "$1" 20C 68F
expect "$1" 100F 38C
exit $fails
