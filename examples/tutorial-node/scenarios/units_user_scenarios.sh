#!/usr/bin/env bash
# What users of the feature can rely on, by its specification alone. No agent sees this file.
#
#   SCENARIO_MODE=selftest|live units_user_scenarios.sh APP_DIR
#
# canary: gannet-9126-cedar-units
set -u
APP_RUN=${APP_RUN:-env}
# What the product must not see: expected values, and what it printed.
work=$(mktemp -d) || exit 86
trap 'rm -rf "$work"' EXIT
failures=0

# check WHAT CODE TEXT: the exit code of the last call, and all that it printed on standard output.
check() {
  [ "$(cat "$work/code")" = "$2" ] && [ "$(cat "$work/out")" = "$3" ] && return
  printf 'FAIL: %s\n  expected: exit code %s and %s\n  observed: exit code %s and %s\n' \
    "$1" "$2" "${3:-nothing}" "$(cat "$work/code")" "$(head -c 400 "$work/out")"
  failures=$((failures + 1))
}

# call ARGUMENTS…: the product, as its users start it.
call() {
  "$APP_RUN" node bin/units.js "$@" >"$work/out" 2>"$work/err" </dev/null
  echo "$?" >"$work/code"
}

# The checker itself: it must accept a right answer and reject a wrong one.
selftest() {
  echo 0 >"$work/code"
  echo 'right' >"$work/out"
  check 'a right answer' 0 right >"$work/said"
  [ "$failures" = 0 ] || exit 1
  check 'a wrong code' 1 right >"$work/said"
  check 'a wrong text' 0 other >"$work/said"
  [ "$failures" = 2 ] || exit 1
}

live() {
  call 100 C F
  check 'Celsius to Fahrenheit' 0 212
  call 0 C K
  check 'Celsius to Kelvin' 0 273.15
  call 451 F K
  check 'Fahrenheit to Kelvin' 0 505.928
  call 5 km m
  check 'lengths, as before' 0 5000
  call -500 C K
  check 'below absolute zero' 2 ''
  grep -q 'below absolute zero' "$work/err" || check 'the message about absolute zero' 2 'below absolute zero'
  call 1 m C
  check 'a length and a temperature' 2 ''
  grep -q 'cannot convert m to C' "$work/err" || check 'the message about two kinds' 2 'cannot convert m to C'
  [ "$failures" = 0 ] && return
  echo 'failure_class=product' >&2
  exit 1
}

case ${SCENARIO_MODE:-selftest} in
  selftest) selftest ;;
  live) live ;;
  *)
    echo "SCENARIO_MODE is selftest or live" >&2
    exit 2
    ;;
esac
