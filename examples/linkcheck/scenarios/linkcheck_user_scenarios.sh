#!/usr/bin/env bash
# What people who run linkcheck can count on, by its specification alone.
#
#   SCENARIO_MODE=selftest|live linkcheck_user_scenarios.sh APP_DIR
#
# selftest tries the checkers below on reports that are written here, right ones and wrong ones, and needs no product.
# live makes a small site with known faults and runs the product in APP_DIR on it.
# canary: heron-4417-willow-user-scenarios
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
# What it works on. The harness removes it.
site=${SCENARIO_TMP:-$work}/site
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

# --- the site -------------------------------------------------------------------------------------------------------

make_site() {
  mkdir -p "$1/docs/sub" "$1/docs/.drafts" "$1/docs/node_modules/x" "$1/clean" "$1/nothing"
  cat >"$1/docs/index.md" <<'SITE'
# The index

See [the guide](guide.md) and [a lost page](lost.md).
![a map](map.png)
[notes]: <old notes.md> "gone"
A name with a blank: [plan](site%20plan.md#the-plan) and [its end](site%20plan.md#the-end).
[Twice](guide.md#twice), [again](guide.md#twice-1), [once more](guide.md#twice-2).
[News](guide.md#whats-new) and [a place](guide.md#by-id), [here](#the-index), [raw](guide.md?raw=1#twice).
Other sites: [one](https://example.org/a.md), [mail](mailto:a@example.org), [bare](//example.org/b.md).
`[in code](never-1.md)` <!-- [in a comment](never-2.md) --> [folder](sub), [from the top](/docs/guide.md).
[bracket]: <guide.md#twice> 'fine'

```md
[in a fence](never-3.md)
```
SITE
  cat >"$1/docs/guide.md" <<'SITE'
# Guide

## Twice

## Twice

## What's new?

<a id="by-id"></a>
SITE
  printf '# The plan\n' >"$1/docs/site plan.md"
  printf '# Sub\n\n[up](../guide.md#nowhere)\n' >"$1/docs/sub/page.markdown"
  printf '[x](never-4.md)\n' >"$1/docs/.drafts/draft.md"
  printf '[x](never-5.md)\n' >"$1/docs/node_modules/x/read.md"
  printf '# Clean\n\n[self](#clean)\n' >"$1/clean/page.md"
  printf 'no Markdown\n' >"$1/nothing/page.txt"
}

broken='docs/index.md:3:45: lost.md
docs/index.md:4:10: map.png
docs/index.md:5:10: old notes.md
docs/index.md:6:68: site%20plan.md#the-end
docs/index.md:7:65: guide.md#twice-2
docs/sub/page.markdown:3:6: ../guide.md#nowhere'
total='6 broken links: 20 links in 4 files, 3 to other sites.'

# --- checkers: each takes files, so that selftest can hand it any report -----------------------------------------------

# check_code WHAT WANTED FILE
check_code() { [ "$(cat "$3")" = "$2" ] || differ "$1: exit code" "$2" "$(cat "$3")"; }

# check_lines WHAT FILE: every broken link as file:line:column: what: target, in any order, a blank line, the count.
check_lines() {
  sed -n 's/^\([^:]*:[0-9]*\):[0-9]*: no such [a-z]*: \(.*\)$/\1 \2/p' "$2" | sort >"$work/seen"
  printf '%s\n' "$broken" | sed 's/^\([^:]*:[0-9]*\):[0-9]*: /\1 /' | sort >"$work/wanted"
  while IFS= read -r one; do
    grep -qxF -- "$one" "$work/seen" || differ "$1: a broken link is not reported" "$one" "$(short "$work/seen")"
  done <"$work/wanted"
  while IFS= read -r one; do
    grep -qxF -- "$one" "$work/wanted" || differ "$1: a link is reported that is no broken link" 'nothing' "$one"
  done <"$work/seen"
  [ "$(tail -n 1 "$2")" = "$total" ] || differ "$1: the count" "$total" "$(tail -n 1 "$2")"
  [ -z "$(tail -n 2 "$2" | head -n 1)" ] || differ "$1: before the count" 'a blank line' "$(tail -n 2 "$2" | head -n 1)"
}

# check_json WHAT FILE: the same as JSON.
check_json() {
  BROKEN=$broken node - "$2" >"$work/json" 2>&1 <<'CODE'
const say = (what, expected, observed) => console.log(`${what}\t${expected}\t${String(observed).split("\n")[0]}`);
let report;
try {
  report = JSON.parse(require('node:fs').readFileSync(process.argv[2], 'utf8'));
} catch (error) {
  say('not JSON', 'a JSON object', error.message);
  process.exit();
}
for (const [key, wanted] of Object.entries({ files: 4, links: 20, external: 3 }))
  if (report?.[key] !== wanted) say(`"${key}"`, wanted, JSON.stringify(report?.[key]));
const list = Array.isArray(report?.broken) ? report.broken : [];
const wanted = process.env.BROKEN.split('\n');
if (list.length !== wanted.length) say('how many are in "broken"', wanted.length, list.length);
for (const one of wanted) {
  const [, file, line, target] = /^([^:]*):(\d+):\d+: (.*)$/.exec(one);
  const has = (entry) => [file, Number(line), target].every((value) => Object.values(entry ?? {}).includes(value));
  if (!list.some(has)) say('not in "broken"', `${file}, line ${line}, ${target}`, JSON.stringify(list).slice(0, 300));
}
CODE
  while IFS=$(printf '\t') read -r what expected observed; do
    differ "$1: $what" "$expected" "$observed"
  done <"$work/json"
}

# check_column WHAT FILE: columns count from 1 and point at the target or its link.
check_column() {
  at=$(sed -n 's/^docs\/index\.md:4:\([0-9]*\): .*/\1/p' "$2")
  case $at in 1 | 2 | 10) ;; *) differ "$1: the column of an image at the start of a line" '1, or where its target begins (10)' "${at:-none}" ;; esac
}

# check_quiet WHAT FILE: nothing but one line of count.
check_quiet() {
  [ "$(grep -c '' "$2")" = 1 ] && grep -q '1 link' "$2" || differ "$1: what is printed when nothing is broken" 'the count alone' "$(short "$2")"
}

# check_refusal WHAT CODE OUT ERR: exit code 2, a message on standard error and nothing on standard output.
check_refusal() {
  check_code "$1" 2 "$2"
  [ ! -s "$3" ] || differ "$1: standard output" 'nothing' "$(short "$3")"
  [ -s "$4" ] || differ "$1: standard error" 'a message that says why' 'nothing'
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
  make_site "$work/site"
  printf '%s\n' "$broken" | while IFS=: read -r file line _; do
    [ -n "$(sed -n "${line}p" "$work/site/$file")" ] || exit 1
  done || {
    echo 'selftest: the site has no line where a fault should be'
    exit 1
  }
  {
    printf '%s\n' "$broken" | sed 's/^\([^:]*:[0-9]*:[0-9]*\): \(.*#.*\)$/\1: no such heading: \2/; t
      s/^\([^:]*:[0-9]*:[0-9]*\): /\1: no such file: /'
    printf '\n%s\n' "$total"
  } >"$work/right"
  {
    check_lines text "$work/right"
    check_column text "$work/right"
  } >"$work/said"
  must_find 0 'a right report'
  sed '1d' "$work/right" >"$work/wrong"
  check_lines text "$work/wrong" >"$work/said"
  must_find 1 'a report that lacks a link'
  { echo 'docs/index.md:10:2: no such file: never-1.md' && cat "$work/right"; } >"$work/wrong"
  check_lines text "$work/wrong" >"$work/said"
  must_find 1 'a report with one too many'
  sed 's/20 links/19 links/' "$work/right" >"$work/wrong"
  check_lines text "$work/wrong" >"$work/said"
  must_find 1 'a wrong count'
  {
    printf '{"files":4,"links":20,"external":3,"broken":['
    printf '%s\n' "$broken" | sed 's/^\([^:]*\):\([0-9]*\):\([0-9]*\): \(.*\)$/{"file":"\1","line":\2,"column":\3,"target":"\4"}/; $!s/$/,/'
    printf ']}\n'
  } >"$work/right.json"
  check_json JSON "$work/right.json" >"$work/said"
  must_find 0 'a right JSON report'
  sed 's/"links":20/"links":22/; s/lost\.md/found.md/' "$work/right.json" >"$work/wrong.json"
  check_json JSON "$work/wrong.json" >"$work/said"
  must_find 2 'a wrong JSON report'
  echo 'No broken links: 1 link in 1 file, 0 to other sites.' >"$work/right"
  check_quiet clean "$work/right" >"$work/said"
  must_find 0 'a clean report'
  echo 2 >"$work/code"
  : >"$work/nothing"
  check_refusal refusal "$work/code" "$work/nothing" "$work/right" >"$work/said"
  must_find 0 'a right refusal'
  echo 1 >"$work/code"
  check_refusal refusal "$work/code" "$work/right" "$work/nothing" >"$work/said"
  must_find 3 'a wrong refusal'
  echo 'selftest: the checkers tell right reports from wrong ones'
}

# --- live ---------------------------------------------------------------------------------------------------------------

# start NAME ARGS...: the product, in the background, in the site.
start() {
  name=$1
  shift
  (
    cd "$site" || exit
    "$APP_RUN" node "$program" "$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null
    echo "$?" >"$work/$name.code"
  ) &
}

live() {
  if [ ! -d "$app" ]; then
    printf 'there is no product in %s\n' "$app"
    echo 'failure_class=product' >&2
    exit 1
  fi
  program=$(cd "$app" && pwd)/bin/linkcheck.js
  if [ ! -f "$program" ]; then
    differ 'the command' 'bin/linkcheck.js' 'no such file'
    exit 1
  fi
  make_site "$site"
  mkdir "$work/here"
  start text docs
  start json --json docs
  start clean clean/page.md
  start gone docs/nowhere.md
  start none nothing
  start option --unknown docs
  start help --help
  wait
  check_code 'a site with faults' 1 "$work/text.code"
  check_lines 'a site with faults' "$work/text.out"
  check_column 'a site with faults' "$work/text.out"
  check_code 'the same as JSON' 1 "$work/json.code"
  check_json 'the same as JSON' "$work/json.out"
  check_code 'a page without faults' 0 "$work/clean.code"
  check_quiet 'a page without faults' "$work/clean.out"
  check_refusal 'a path that does not exist' "$work/gone.code" "$work/gone.out" "$work/gone.err"
  check_refusal 'a folder without Markdown' "$work/none.code" "$work/none.out" "$work/none.err"
  check_refusal 'an unknown option' "$work/option.code" "$work/option.out" "$work/option.err"
  check_code 'asked for help' 0 "$work/help.code"
  grep -q -- '--json' "$work/help.out" || differ 'asked for help' 'the command explained, with --json' "$(short "$work/help.out")"
  rm -rf "$site/docs" "$site/nothing"
  start here
  wait
  check_code 'without a path' 0 "$work/here.code"
  check_quiet 'without a path' "$work/here.out"
}

"$mode"
if [ "$failures" -gt 0 ]; then
  printf '%s checks failed\n' "$failures"
  exit 1
fi
