#!/usr/bin/env bash
# canary: quail-marmalade-5513
set -u
[ "${SCENARIO_MODE:-live}" = selftest ] && exit 0
observed=$(cd "$1" && sh greet.sh Ada)
[ "$observed" = 'Hello, Ada!' ] && exit 0
echo 'failure_class=product' >&2
printf 'FAIL: greets by name\n  expected: a greeting with the name\n  observed: %s\n' "$observed"
exit 1
