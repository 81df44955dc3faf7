#!/usr/bin/env bash
# What linkcheck is made of and what comes with it, by its specification alone.
#
#   SCENARIO_MODE=selftest|live linkcheck_component_checks.sh APP_DIR
#
# canary: kestrel-9920-alder-component-checks
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
work=$(mktemp -d "${TMPDIR:-/tmp}/linkcheck.XXXXXX") || exit 86
trap 'rm -rf "$work"' EXIT
if ! command -v node >/dev/null 2>&1; then
  echo 'node is not installed' >&2
  echo 'failure_class=infra' >&2
  exit 86
fi

failures=0
differ() {
  printf 'FAIL: %s\n  expected: %s\n  observed: %s\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}

# check_parts DIR: the files that are promised are there.
check_parts() {
  for part in bin/linkcheck.js package.json scripts/verify.sh README.md; do
    [ -f "$1/$part" ] || differ 'a file that comes with it' "$part" 'no such file'
  done
  [ "$(find "$1/sample" -name '*.md' -type f 2>/dev/null | wc -l | tr -d ' ')" = 2 ] ||
    differ 'sample/' 'two Markdown files' "$(ls "$1/sample" 2>&1 | tr '\n' ' ')"
  find "$1/sample" -name '* *' -type f 2>/dev/null | grep -q . ||
    differ 'sample/' 'a file name with a blank in it' "$(ls "$1/sample" 2>&1 | tr '\n' ' ')"
}

# check_package FILE: no dependencies, and tests by node --test.
check_package() {
  said=$(node -e '
    const it = JSON.parse(require("node:fs").readFileSync(process.argv[1], "utf8"));
    const needs = Object.keys({ ...it.dependencies, ...it.optionalDependencies, ...it.peerDependencies });
    if (needs.length > 0) console.log(`needs ${needs.join(", ")}`);
    else if (!/node\b.*--test\b/.test(it.scripts?.test ?? "")) console.log(`test: ${it.scripts?.test}`);
  ' "$1" 2>&1) || said=${said##*$'\n'}
  [ -z "$said" ] || differ 'package.json' 'no dependencies, and "npm test" runs node --test' "$said"
}

# check_sample CODE OUT: one missing file and one missing heading.
check_sample() {
  [ "$(cat "$1")" = 1 ] || differ 'linkcheck on sample: exit code' 1 "$(cat "$1")"
  [ "$(grep -c ': no such file: ' "$2")" = 1 ] && [ "$(grep -c ': no such heading: ' "$2")" = 1 ] ||
    differ 'linkcheck on sample' 'one missing file and one missing heading' "$(tr '\n' '|' <"$2")"
}

must_find() {
  if [ "$failures" -ne "$1" ]; then
    printf 'selftest: %s: %s faults found, not %s\n' "$2" "$failures" "$1"
    exit 1
  fi
  failures=0
}

selftest() {
  mkdir -p "$work/good/bin" "$work/good/scripts" "$work/good/sample" "$work/bad"
  for part in bin/linkcheck.js scripts/verify.sh README.md sample/a.md 'sample/b c.md'; do : >"$work/good/$part"; done
  echo '{"scripts":{"test":"node --test"}}' >"$work/good/package.json"
  check_parts "$work/good" >"$work/said"
  check_package "$work/good/package.json" >>"$work/said"
  must_find 0 'a whole product'
  check_parts "$work/bad" >"$work/said"
  must_find 6 'an empty product'
  echo '{"scripts":{"test":"node --test"},"dependencies":{"x":"1"}}' >"$work/bad/package.json"
  check_package "$work/bad/package.json" >"$work/said"
  must_find 1 'a product with dependencies'
  printf '1\n' >"$work/code"
  printf 'a.md:1:1: no such file: b\na.md:2:1: no such heading: #c\n\n2 broken links: …\n' >"$work/out"
  check_sample "$work/code" "$work/out" >"$work/said"
  must_find 0 'a right report on the sample'
  printf '0\n' >"$work/code"
  check_sample "$work/code" /dev/null >"$work/said"
  must_find 2 'a wrong report on the sample'
  echo 'selftest: the checkers tell whole products from broken ones'
}

live() {
  check_parts "$app"
  [ ! -f "$app/package.json" ] || check_package "$app/package.json"
  [ -f "$app/bin/linkcheck.js" ] || return
  cd "$app" || return
  "$APP_RUN" node bin/linkcheck.js sample >"$work/sample.out" 2>&1 </dev/null
  echo "$?" >"$work/sample.code"
  check_sample "$work/sample.code" "$work/sample.out"
  "$APP_RUN" node bin/linkcheck.js README.md >"$work/readme.out" 2>&1 </dev/null ||
    differ 'linkcheck on its own README.md' 'nothing wrong' "$(tr '\n' '|' <"$work/readme.out")"
}

"$mode"
if [ "$failures" -gt 0 ]; then
  printf '%s checks failed\n' "$failures"
  exit 1
fi
