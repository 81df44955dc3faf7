#!/usr/bin/env bash
# What users of the feature can rely on, by its specification alone. No agent sees this file.
#
#   SCENARIO_MODE=selftest|live notes_user_scenarios.sh APP_DIR
#
# canary: heron-4471-linen-notes
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
  "$APP_RUN" python3 notes.py "$@" >"$work/out" 2>"$work/err" </dev/null
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
  local file=${SCENARIO_TMP:-$work}/notes.txt
  call "$file" add Buy pears
  call "$file" add Call Ada about the pears
  call "$file" add Read a book
  call "$file" list
  check 'list, as before' 0 $'1  Buy pears\n2  Call Ada about the pears\n3  Read a book'
  call "$file" search PEARS
  check 'a word in any case' 0 $'1  Buy pears\n2  Call Ada about the pears'
  call "$file" search pears ada
  check 'every word must occur' 0 '2  Call Ada about the pears'
  call "$file" search ook
  check 'a part of a word' 0 '3  Read a book'
  call "$file" search figs
  check 'nothing is found' 1 ''
  call "$file" search
  check 'no word' 2 ''
  [ -s "$work/err" ] || check 'no word: the usage on standard error' 2 'usage'
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
