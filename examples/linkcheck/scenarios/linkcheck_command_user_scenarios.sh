#!/usr/bin/env bash
# What the command linkcheck takes, prints and refuses, by its specification alone.
#
#   SCENARIO_MODE=selftest|live linkcheck_command_user_scenarios.sh APP_DIR
#
# canary: dunlin-3378-hornbeam-command-line
set -u
APP_RUN=${APP_RUN:-env}
# What the product must not see: expected values, and what it printed.
work=$(mktemp -d "${TMPDIR:-/tmp}/linkcheck.XXXXXX") || exit 86
site=${SCENARIO_TMP:-$work}/site
trap 'rm -rf "$work"' EXIT
failures=0
differ() {
  printf 'FAIL: %s\n  expected: %s\n  observed: %s\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}
short() { head -c 400 "$1" | tr '\n' '|'; }

make_site() {
  mkdir -p "$1/a/b/c" "$1/a/.hidden" "$1/a/b/node_modules/x" "$1/good" "$1/texts" "$1/elsewhere/a" && cd "$1" || exit 86
  printf '# One\n\n`See` <!-- it --> [it](gone.md).\n   ![x](<gone too.png>) [good](#one)\n[id]: gone.md\n' >a/one.md
  printf '[two](../one.md#two) [root](/a/one.md) [web](https://example.org)\n' >a/b/two.markdown
  printf '[three](%s/gone.md)\n[mail](mailto:a@example.org)\n' .. >a/b/c/three.md
  printf '[x](never.md)\n' | tee a/.hidden/x.md a/b/node_modules/x/x.md a/b/x.mdx a/x.md.txt >texts/x.txt
  printf '# Good\n[a](#good) [web](https://example.org)\n' | tee good/one.md >good/two.md
}
# file:line:where a link begins:where its target begins: what is wrong with it: its target
one='a/one.md:3:19:24: no such file: gone.md
a/one.md:4:4:10: no such file: gone too.png
a/one.md:5:1:7: no such file: gone.md'
up=..
below="a/b/c/three.md:1:1:9: no such file: $up/gone.md
a/b/two.markdown:1:1:7: no such heading: $up/one.md#two"

# check_code WHAT WANTED CODE
check_code() { [ "$(cat "$3")" = "$2" ] || differ "$1: exit code" "$2" "$(cat "$3")"; }

# check_lines WHAT LINKS TOTAL OUT: these links in any order, each at its place, and the count.
check_lines() {
  printf '%s\n\n%s broken links: %s\n' "$2" "$(grep -c '' <<<"$2")" "$3" >"$work/wanted"
  for at in '\2' '\3'; do # Columns point at links or at their targets, the same for all.
    sed "s/^\([^:]*:[0-9]*\):\([0-9]*\):\([0-9]*\): /\1:$at: /" "$work/wanted" | sort >"$work/sorted"
    sed 's/^\.\///; s/^\(a\/one\.md:4:\)5: /\14: /; s/^\(a\/one\.md:4:\)9: /\110: /' "$4" | sort | cmp -s - "$work/sorted" && return
  done
  differ "$1" "$(short "$work/sorted")" "$(sort "$4" | tr '\n' '|')"
}

# check_last WHAT OUT: a blank line, then the count.
check_last() {
  tail -n 2 "$2" | tr '\n' '|' | grep -q '^|[0-9]* broken links: ' || differ "$1" 'a blank line and the count at the end' "$(short "$2")"
}

# check_quiet WHAT TOTAL OUT: the count alone.
check_quiet() {
  [ "$(grep -c '' "$3")" = 1 ] && grep -q "[[:alnum:]]: $2\$" "$3" || differ "$1: nothing is broken" "the count alone, …: $2" "$(short "$3")"
}

# check_json WHAT NUMBERS LINKS OUT: files, links, external and how many are broken; each with its place, its target and what is wrong.
check_json() {
  seen=$(node -e '
    const [wanted, file] = process.argv.slice(1);
    const { files, links, external, broken } = JSON.parse(require("node:fs").readFileSync(file, "utf8"));
    const kinds = { file: new Set(), heading: new Set() };
    const missing = wanted.split("\n").filter(Boolean).filter((one) => {
      const [, path, line, from, to, kind, target] = /^(.*?):(.*?):(.*?):(.*?): no such (.*?): (.*)$/.exec(one);
      const place = [path, Number(line), target];
      const entry = broken.find((it) => place.every((value) => Object.values(it).includes(value)));
      const rest = Object.values(entry ?? {});
      for (const value of entry ? place : []) rest.splice(rest.indexOf(value), 1);
      kinds[kind].add(JSON.stringify(rest.filter((value) => typeof value === "string")));
      return !rest.some((value) => value >= Number(from) && value <= Number(to));
    });
    if ([...kinds.file].some((it) => kinds.heading.has(it))) missing.push("what is wrong");
    console.log([files, links, external, broken.length, ...missing].join(" "));
  ' "$3" "$4" 2>&1 | tail -n 1)
  [ "$seen" = "$2" ] || differ "$1: files, links, external, broken, and what is missing" "$2" "$seen"
}

# check_refusal WHAT NAME CODE OUT ERR: exit code 2, nothing on standard output, and a message that says more than that name.
check_refusal() {
  check_code "$1" 2 "$3"
  [ ! -s "$4" ] || differ "$1: standard output" 'nothing' "$(short "$4")"
  sed -E "s/linkcheck|$2//g" "$5" | grep -q '[[:alpha:]]\{2\}' || differ "$1: standard error" 'a message that says why' "$(short "$5")"
  ! grep -q '^ *at .*:[0-9]*:[0-9]*)*$' "$5" || differ "$1: standard error" 'a message, not where in the program it arose' "$(short "$5")"
}

# must_find N WHAT: the checks since the last call found N faults.
must_find() {
  if [ "$failures" -ne "$1" ]; then
    printf 'selftest: %s: %s faults found, not %s\n' "$2" "$failures" "$1"
    exit 1
  fi
  failures=0
}

selftest() {
  {
    printf '%s\n%s\n\n5 broken links: 9 links in 3 files, 2 to other sites.\n' "$below" "$one" | sed 's/:[0-9]*: no/: no/' >"$work/right"
    check_lines text "$one"$'\n'"$below" '9 links in 3 files, 2 to other sites.' "$work/right"
    check_last text "$work/right"
    must_find 0 'a right report'
    sed 's/:3:19:/:3:20:/; s/^$/ /' "$work/right" >"$work/wrong"
    check_lines text "$one"$'\n'"$below" '9 links in 3 files, 2 to other sites.' "$work/wrong"
    check_last text "$work/wrong"
    must_find 2 'a wrong column and no blank line'
    echo 'No broken links: 4 links in 2 files, 2 to other sites.' >"$work/right"
    check_quiet text '4 links in 2 files, 2 to other sites.' "$work/right"
    must_find 0 'a quiet report'
    check_quiet text '5 links in 2 files, 2 to other sites.' "$work/right"
    must_find 1 'a wrong count'
    echo '{"files":1,"links":2,"external":0,"broken":[["a/one.md",3,24,"file","gone.md"],["a/b/two.markdown",1,7,"heading","../one.md#two"]]}' >"$work/json"
    two='a/one.md:3:19:24: no such file: gone.md'$'\n''a/b/two.markdown:1:1:7: no such heading: ../one.md#two'
    check_json JSON '1 2 0 2' "$two" "$work/json"
    must_find 0 'a right JSON report'
    sed -i.old 's/heading/file/; s/,24,/,4,/' "$work/json"
    check_json JSON '1 2 0 2' "$two" "$work/json"
    must_find 1 'a wrong JSON report'
    echo 2 >"$work/code"
    : >"$work/nothing"
    echo 'linkcheck: no such path: gone.md' >"$work/err"
    check_refusal text 'gone\.md' "$work/code" "$work/nothing" "$work/err"
    must_find 0 'a right refusal'
    printf 'gone.md\n    at main (bin/linkcheck.js:3:7)\n' >"$work/err"
    check_refusal text 'gone\.md' "$work/code" "$work/nothing" "$work/err"
    must_find 1 'a refusal with a stack'
    check_refusal text 'no such' "$work/nothing" "$work/right" "$work/nothing"
    must_find 3 'a wrong refusal'
  } >"$work/said"
  echo 'selftest: the checkers tell right reports from wrong ones'
}

# run ARGS: the product, in $site/$in.
run() {
  (cd "$site/${in:-}" && "$APP_RUN" node "$program" "$@") >"$work/out" 2>"$work/err" </dev/null
  echo "$?" >"$work/code"
}

live() {
  program=$(cd "$app" && pwd)/bin/linkcheck.js
  make_site "$site"
  run a/one.md a/b
  check_code 'a file and a folder' 1 "$work/code"
  check_lines 'a file and a folder' "$one"$'\n'"$below" '9 links in 3 files, 2 to other sites.' "$work/out"
  check_last 'a file and a folder' "$work/out"
  run
  check_code 'without a path' 1 "$work/code"
  check_lines 'without a path' "$one"$'\n'"$below" '13 links in 5 files, 4 to other sites.' "$work/out"
  run good
  check_code 'a folder without faults' 0 "$work/code"
  check_quiet 'a folder without faults' '4 links in 2 files, 2 to other sites.' "$work/out"
  run a/b/c
  check_code 'one broken link' 1 "$work/code"
  tail -n 1 "$work/out" | grep -qE '^1 broken links?: 2 links in 1 files?, 1 to other sites\.$' ||
    differ 'one broken link: the count' '1 broken link: 2 links in 1 file, 1 to other sites.' "$(short "$work/out")"
  run --json a
  check_code '--json' 1 "$work/code"
  check_json '--json' '3 9 2 5' "$one"$'\n'"$below" "$work/out"
  run --json good
  check_code '--json without faults' 0 "$work/code"
  check_json '--json without faults' '2 4 2 0' '' "$work/out"
  in=elsewhere run "$up/a/b/two.markdown"
  grep -qF ': no such file: /a/one.md' "$work/out" ||
    differ 'a target that begins with / where the current folder has no such file' '…: no such file: /a/one.md' "$(short "$work/out")"
  run a gone.md
  check_refusal 'a path that does not exist, after one that does' 'gone\.md' "$work/code" "$work/out" "$work/err"
  grep -q 'gone\.md' "$work/err" || differ 'a path that does not exist, after one that does' 'a message that names it' "$(short "$work/err")"
  run texts
  check_refusal 'a folder without Markdown files' texts "$work/code" "$work/out" "$work/err"
  run --wrong a
  check_refusal 'an unknown option' '--wrong' "$work/code" "$work/out" "$work/err"
  in=texts run --help
  check_code '--help' 0 "$work/code"
  grep -q 'linkcheck' "$work/out" && grep -q -- '--json' "$work/out" ||
    differ '--help' 'the command explained, with --json' "$(short "$work/out")"
  [ "$failures" = 0 ] && return
  printf '%s checks failed\n' "$failures"
  echo 'failure_class=product' >&2
  exit 1
}

app=${1:-}
case ${SCENARIO_MODE:-selftest} in
  selftest) selftest ;;
  live) live ;;
  *)
    echo 'SCENARIO_MODE is selftest or live' >&2
    exit 2
    ;;
esac
