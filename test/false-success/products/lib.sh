# Shared by the scenarios of all products: a call of the product, and checks of what came back.
APP_RUN=${APP_RUN:-env}
work=$(mktemp -d) || exit 86
data=${SCENARIO_TMP:-$work}
trap 'rm -rf "$work"' EXIT
failures=0
: >"$work/in"

# differ WHAT EXPECTED OBSERVED
differ() {
  printf 'FAIL: %s\n  expected: %s\n  observed: %s\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}
# call PROGRAM ARGUMENTS…: the product with the input of $work/in
call() {
  "$APP_RUN" "$@" >"$work/out" 2>"$work/err" <"$work/in"
  echo "$?" >"$work/code"
  : >"$work/in"
}
# input TEXT: what the next call reads
input() { printf '%b' "$1" >"$work/in"; }
# check WHAT CODE TEXT: exit code and all of standard output (with \n)
check() {
  printf '%b' "$3" >"$work/wanted"
  [ "$(cat "$work/code")" = "$2" ] && cmp -s "$work/wanted" "$work/out" && return
  differ "$1" "exit code $2, $(tr '\n' '|' <"$work/wanted")" "exit code $(cat "$work/code"), $(head -c 300 "$work/out" | tr '\n' '|')"
}
# says WHAT TEXT: a line of standard error contains it
says() { grep -qF -- "$2" "$work/err" || differ "$1" "on standard error: $2" "$(head -c 300 "$work/err" | tr '\n' '|')"; }

selftest() {
  echo 0 >"$work/code"
  printf 'a\n' >"$work/out"
  printf 'b\n' >"$work/err"
  check 'right' 0 'a\n' >"$work/said"
  says 'right' b >>"$work/said"
  [ "$failures" = 0 ] || exit 1
  { check 'a wrong text' 0 'c\n' && check 'a wrong code' 1 'a\n'; says 'another message' c; } >>"$work/said"
  [ "$failures" -gt 1 ] || exit 1
}
end() {
  [ "$failures" = 0 ] && exit 0
  echo 'failure_class=product' >&2
  exit 1
}
