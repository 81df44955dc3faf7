#!/usr/bin/env bash
# What people who run logtally can count on, by its specification alone.
#
#   SCENARIO_MODE=selftest|live logtally_user_scenarios.sh APP_DIR
#
# selftest tries the checkers below on reports that are written here, right ones and wrong ones, and needs no product.
# live makes logs and runs the product in APP_DIR on them.
# canary: plover-2083-hazel-user-scenarios
set -u

mode=${SCENARIO_MODE:-selftest}
app=${1:-}
case $mode in
  selftest | live) ;;
  *)
    printf 'SCENARIO_MODE is selftest or live, not %s\n' "$mode" >&2
    exit 2
    ;;
esac
# Starts the product, where a sandbox works in one that does not contain this script. By hand, without a harness, nothing does.
APP_RUN=${APP_RUN:-env}
# What the product must not see: expected values, and what it printed.
work=$(mktemp -d "${TMPDIR:-/tmp}/logtally.XXXXXX") || exit 86
# What it works on. The harness removes it.
logs=${SCENARIO_TMP:-$work}/logs
trap 'rm -rf "$work"' EXIT
if ! command -v node >/dev/null 2>&1; then
  echo 'node is not installed' >&2
  echo 'failure_class=infra' >&2
  exit 86
fi

failures=0
# differ WHAT EXPECTED OBSERVED: one failing check, in words that whoever made the product can use.
differ() {
  printf 'FAIL: %s\n  expected: %s\n  observed: %s\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}
short() { head -c 400 "$1" | tr '\n' '|'; }

# --- the logs -------------------------------------------------------------------------------------------------------

# line TARGET STATUS BYTES
line() { printf '192.0.2.1 - - [02/Mar/2026:10:00:00 +0000] "GET %s HTTP/1.1" %s %s "-" "x"\n' "$1" "$2" "$3"; }

make_logs() {
  mkdir -p "$1"
  {
    line /pears 200 1500
    line '/apples?sort=1#top' 200 998500
    line /apples 404 0
    line /figs 200 -
    echo
    echo 'no request at all'
    line /pears 500 1
  } >"$1/one.log"
  {
    line /zebra 200 999
    echo '192.0.2.9 - - [t] "\x16\x03" 400 7'
  } >"$1/two.log"
  echo 'nothing to read here' >"$1/none.log"
}

report='6 requests, 1.0 MB
2 lines could not be read

status  requests
200     4
404     1
500     1

path     requests  size
/apples  2         998.5 KB
/pears   2         1.5 KB
/figs    1         0 B'

# --- checkers: each takes files, so that selftest can hand it any report -----------------------------------------------

# check_code WHAT WANTED FILE
check_code() { [ "$(cat "$3")" = "$2" ] || differ "$1: exit code" "$2" "$(cat "$3")"; }

# check_report WHAT WANTED FILE: the report, to the last blank.
check_report() {
  printf '%s\n' "$2" >"$work/wanted"
  cmp -s "$work/wanted" "$3" || differ "$1: the report" "$(short "$work/wanted")" "$(short "$3")"
}

# check_refusal WHAT CODE OUT ERR: exit code 2, a message on standard error and nothing on standard output.
check_refusal() {
  check_code "$1" 2 "$2"
  [ ! -s "$3" ] || differ "$1: standard output" 'nothing' "$(short "$3")"
  [ "$(grep -c '' "$4")" = 1 ] || differ "$1: standard error" 'one message that says why' "$(short "$4")"
}

# --- selftest -----------------------------------------------------------------------------------------------------------

# must_find N WHAT: the checks since the last call found N faults.
must_find() {
  if [ "$failures" -ne "$1" ]; then
    printf 'selftest: %s: %s faults found, not %s\n' "$2" "$failures" "$1"
    exit 1
  fi
  failures=0
}

selftest() {
  make_logs "$work/logs"
  printf '%s\n' "$report" >"$work/right"
  check_report text "$report" "$work/right" >"$work/said"
  must_find 0 'a right report'
  sed 's/^\/pears   2/\/pears   1/' "$work/right" >"$work/wrong"
  check_report text "$report" "$work/wrong" >"$work/said"
  must_find 1 'a wrong count'
  sed 's/$/ /' "$work/right" >"$work/wrong"
  check_report text "$report" "$work/wrong" >"$work/said"
  must_find 1 'blanks at the ends of lines'
  echo 2 >"$work/code"
  : >"$work/out"
  echo 'logtally: gone' >"$work/err"
  check_refusal refusal "$work/code" "$work/out" "$work/err" >"$work/said"
  must_find 0 'a right refusal'
  check_refusal refusal "$work/code" "$work/err" "$work/out" >"$work/said"
  must_find 2 'a refusal on standard output'
  echo 'selftest: the checkers tell right reports from wrong ones'
}

# --- live ---------------------------------------------------------------------------------------------------------------

# run ARGS: the product, in the folder of the logs; standard input is $work/in.
run() {
  (cd "$logs" && "$APP_RUN" node "$program" "$@") >"$work/out" 2>"$work/err" <"$work/in"
  echo "$?" >"$work/code"
}

live() {
  if [ ! -d "$app" ]; then
    printf 'there is no product in %s\n' "$app"
    echo 'failure_class=product' >&2
    exit 1
  fi
  program=$(cd "$app" && pwd)/bin/logtally.js
  if [ ! -f "$program" ]; then
    differ 'the command' 'bin/logtally.js' 'no such file'
    exit 1
  fi
  make_logs "$logs"
  : >"$work/in"

  run --top 3 one.log two.log
  check_code 'two logs' 0 "$work/code"
  check_report 'two logs, --top 3' "$report" "$work/out"

  cp "$logs/two.log" "$work/in"
  run
  check_code 'standard input' 0 "$work/code"
  check_report 'standard input' '1 request, 999 B
1 line could not be read

status  requests
200     1

path    requests  size
/zebra  1         999 B' "$work/out"

  : >"$work/in"
  run none.log
  check_code 'a log without a request' 1 "$work/code"
  run gone.log
  check_refusal 'a file that is not there' "$work/code" "$work/out" "$work/err"
  run --top none one.log
  check_refusal '--top none' "$work/code" "$work/out" "$work/err"
  run --wrong one.log
  check_refusal 'an unknown option' "$work/code" "$work/out" "$work/err"
  run --help
  check_code '--help' 0 "$work/code"
  grep -q -- '--top' "$work/out" || differ '--help' 'a text that names --top' "$(short "$work/out")"

}

"$mode"
if [ "$failures" -gt 0 ]; then
  printf '%s checks failed\n' "$failures"
  exit 1
fi
