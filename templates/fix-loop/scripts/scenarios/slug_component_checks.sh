#!/usr/bin/env bash
# The edges of the rules: signs at the ends, several in a row, digits.
#   SCENARIO_MODE=selftest|live slug_component_checks.sh APP_DIR
# canary: quartz-1187-heron-component-checks
set -u
app=${1:-.}
failures=0
differ() {
  printf 'FAIL: %s\n  expected: %s\n  observed: %s\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}
# same TITLE WANTED GOT
same() { [ "$3" = "$2" ] || differ "the name of '$1'" "$2" "$3"; }

case ${SCENARIO_MODE:-selftest} in
  selftest)
    same 'A' a a
    [ "$failures" -eq 0 ] || exit 1
    same 'A' a b >/dev/null
    [ "$failures" -eq 1 ] || exit 1
    exit 0
    ;;
esac
cd "$app" || exit 1
name() { "${APP_RUN:-env}" sh slug.sh "$1" </dev/null; }
same '  padded  ' padded "$(name '  padded  ')"
same 'a -- b' a-b "$(name 'a -- b')"
same 'Top 10!' top-10 "$(name 'Top 10!')"
if [ "$failures" -gt 0 ]; then
  echo 'failure_class=product' >&2
  exit 1
fi
