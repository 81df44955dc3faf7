#!/usr/bin/env bash
# Judges a product by one scenario script: first the scenario itself (selftest), then the product (live).
#
#   preflight_scenario.sh SCRIPT APP_DIR
#
# Environment: REQUIRE_LIVE (1) · SCENARIO_TIMEOUT (15m, of each phase) · SCENARIO_GRACE (5, seconds from TERM to KILL).
# The script gets SCENARIO_MODE, REQUIRE_LIVE, SCENARIO_TMP, a private folder that is removed afterwards, and APP_RUN, the
# program that starts the product.
# Comment lines in it may say what live needs: `requires-env: NAME...` and `requires-network: HOST[:PORT]...`.
#
# Exit codes: 0 holds · 2 usage · 1 no such script · 86 infrastructure · else the script's own (124: it ran out of time).
# The last line on standard error of a failure is `failure_class=product|scenario|infra`.
# Whose failure it is follows from what this harness sees for itself, never from words in the product's output. Of what
# is printed only lines that stand in the script word for word, or all where there is no product, may tell of the world.
set -u

say() { printf '[preflight] %s\n' "$*"; }
explain() { printf '[preflight] %s\n' "$*" >&2; }

if [ "$#" -ne 2 ] || [ -z "$1" ] || [ -z "$2" ]; then
  printf 'usage: %s SCRIPT APP_DIR\n' "$(basename "$0")" >&2
  exit 2
fi
script=$1
app=$2
require_live=${REQUIRE_LIVE:-1}

if [ ! -f "$script" ]; then
  explain "there is no scenario script $script: name one, as in scripts/scenarios/NAME_user_scenarios.sh"
  printf 'failure_class=scenario\n' >&2
  exit 1
fi

# seconds TEXT: 90, 90s, 15m, 2h as seconds; fails for anything else.
seconds() {
  case $1 in
    *[!0-9smh]* | '' | [smh]*) return 1 ;;
    *[0-9]s) set -- "${1%s}" 1 ;;
    *[0-9]m) set -- "${1%m}" 60 ;;
    *[0-9]h) set -- "${1%h}" 3600 ;;
    *) set -- "$1" 1 ;;
  esac
  case $1 in *[!0-9]*) return 1 ;; esac
  printf '%s' "$(($1 * $2))"
}
limit=$(seconds "${SCENARIO_TIMEOUT:-15m}") && [ "$limit" -gt 0 ] || {
  explain "SCENARIO_TIMEOUT=${SCENARIO_TIMEOUT:-} is no time: write 90s, 15m or 2h"
  exit 2
}
grace=$(seconds "${SCENARIO_GRACE:-5}") || grace=5

work=$(mktemp -d "${TMPDIR:-/tmp}/scenario.XXXXXX") || exit 86
keeper=''
cleanup() {
  trap '' HUP INT TERM
  # The keeper ends the script's whole group before it goes.
  if [ -n "$keeper" ]; then
    kill -TERM "$keeper" 2>/dev/null
    wait "$keeper" 2>/dev/null
  fi
  chmod -R u+rwX "$work" 2>/dev/null
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# real DIR: its path without links, as far as there is one.
real() { (cd "$1" 2>/dev/null && pwd -P) || printf '%s' "$1"; }

# in_app PATH: whether a path that bash names lies in the product.
in_app() {
  case $1 in
    "$app"/* | "$(real "$app")"/* | "$(real "$app")") return 0 ;;
    *) return 1 ;;
  esac
}

# is_below PATH: whether it leads on from where the scenario stood, which is the product, and not to the scenario's own.
is_below() {
  case $1 in
    /* | '~'* | "$script"*) return 1 ;;
    */*) return 0 ;;
    *) return 1 ;;
  esac
}

# stands PID: the folder that a process works in, as /proc tells it, else lsof, which every Mac has.
stands() { readlink "/proc/$1/cwd" 2>/dev/null || lsof -a -d cwd -p "$1" -Fn 2>/dev/null | sed -n 's/^n//p'; }

# products_run GROUP: whether a program of the product is among a process group: one whose command line names a file of
# the product, or that works in its folder and is none of the tools that a scenario waits with. Yes where nobody can tell.
products_run() {
  # The whole of each line: ps cuts at the width of a terminal, on macOS also where there is none.
  ps -A -ww -o pid= -o pgid= -o args= >"$work/ps" 2>/dev/null || return 0
  while read -r one group args; do
    # The script and its subshells have the product's folder as an argument.
    [ "$group" = "$1" ] && [ "$args" != "bash $script $app" ] || continue
    case "$args " in *"$app"/* | *"$(real "$app")"/*) return 0 ;; esac
    case $(basename "${args%% *}") in sleep | curl | wget | nc | tail | cat | tee) continue ;; esac
    at=$(stands "$one") && in_app "$at" && return 0
  done <"$work/ps"
  return 1
}

# The keeper runs one phase in a separate process group, ends the group when time is up, and writes down what it saw:
# `code`, and `timeout`, `signal` and `products` where that was so. Bash tells of a signal on its own standard error.
keep_phase() {
  set -m
  exec 2>"$work/notice"
  SCENARIO_MODE=$1 REQUIRE_LIVE=$require_live SCENARIO_TMP="$work/tmp" TMPDIR="$work/tmp" APP_RUN="$work/app-run" \
    bash "$script" "$app" >"$work/out" 2>"$work/err" </dev/null &
  pid=$!
  # shellcheck disable=SC2064
  trap "kill -KILL -- -$pid 2>/dev/null; [ -n \"\${watch:-}\" ] && kill -KILL -- -\$watch 2>/dev/null; exit 143" TERM
  {
    sleep "$limit"
    : >"$work/timeout"
    # Whose program was still at it, before anything is ended.
    if products_run "$pid"; then : >"$work/products"; fi
    kill -TERM -- "-$pid" 2>/dev/null
    sleep "$grace"
    kill -KILL -- "-$pid" 2>/dev/null
  } >/dev/null 2>&1 &
  watch=$!
  : >"$work/notice"
  wait "$pid"
  code=$?
  # What a script that has ended left in the background goes with it.
  kill -KILL -- "-$pid" 2>/dev/null
  if [ "$code" -gt 128 ] && [ -s "$work/notice" ]; then
    printf '%s' "$((code - 128))" >"$work/signal"
  fi
  kill -KILL -- "-$watch" 2>/dev/null
  printf '%s' "$code" >"$work/code"
}

# The launcher: starts a program of the product, in the product's folder unless the script is in it or in SCENARIO_TMP. Without a
# sandbox: factory scenario run has one that separates product and scenario.
make_launcher() {
  cat >"$work/app-run" <<'LAUNCHER'
#!/bin/sh
[ "$#" -gt 0 ] || { echo 'APP_RUN: no program is given: "$APP_RUN" PROGRAM ARGUMENTS…' >&2; exit 125; }
temporary=$(cd "$SCENARIO_TMP" && pwd -P)
app=$(cat "${0%/*}/app")
unset APP_RUN SCENARIO_MODE REQUIRE_LIVE OLDPWD
case $(pwd -P)/ in "$app"/* | "$temporary"/*) ;; *) cd "$app" || exit 126 ;; esac
case $1 in
  /*) ;;
  */*) [ -e "$1" ] || { program=$app/$1; shift; set -- "$program" "$@"; } ;;
esac
exec "$@"
LAUNCHER
  real "$app" >"$work/app"
  chmod +x "$work/app-run"
}

phase_code=0
run_phase() {
  rm -rf "$work/tmp"
  rm -f "$work/out" "$work/err" "$work/notice" "$work/code" "$work/timeout" "$work/signal" "$work/products"
  mkdir "$work/tmp"
  # With job control, or what it starts would ignore Ctrl-C for good.
  set -m
  (keep_phase "$1") &
  keeper=$!
  set +m
  wait "$keeper" 2>/dev/null
  keeper=''
  phase_code=$(cat "$work/code" 2>/dev/null) || phase_code=''
  [ -n "$phase_code" ] || phase_code=137
  [ ! -f "$work/timeout" ] || phase_code=124
  [ ! -f "$work/out" ] || cat "$work/out"
  [ ! -f "$work/err" ] || cat "$work/err" >&2
}

# declared WORD: what comment lines of the script say after `WORD:`.
declared() { sed -n "s/^[[:space:]]*[#/-][#/ -]*$1:[[:space:]]*//p" "$script" | tr ',\t' '  '; }

# unreachable: the first declared host that takes no connection within 5 seconds; empty when all do, or behind a proxy.
unreachable() {
  [ -z "${HTTPS_PROXY:-}${https_proxy:-}${ALL_PROXY:-}${all_proxy:-}" ] || return 0
  for place in $(declared requires-network); do
    host=${place%:*}
    port=${place##*:}
    case $place in *:*) ;; *) port=443 ;; esac
    set -m
    (exec 3<>"/dev/tcp/$host/$port") >/dev/null 2>&1 &
    probe=$!
    (sleep 5 && kill -KILL "$probe") >/dev/null 2>&1 &
    timer=$!
    set +m
    wait "$probe" 2>/dev/null || {
      kill -KILL -- "-$timer" 2>/dev/null
      printf '%s' "$place"
      return 0
    }
    kill -KILL -- "-$timer" 2>/dev/null
  done
}

# What bash itself said last of the script: `SCRIPT: line N: …`.
bash_said() { grep -v '^[[:space:]]*$' "$work/err" 2>/dev/null | tail -n 1 | sed -n "s|^$(quoted "$script"): line [0-9]*: ||p"; }
quoted() { printf '%s' "$1" | sed 's/[][\.*^$|]/\\&/g'; }

# classify PHASE: sets `class` and `why` from the evidence, in this order.
class=''
why=''
classify() {
  word=$(own_word)
  if [ -n "$word" ]; then class=$word why="the script reports this class"; return; fi
  if [ -f "$work/timeout" ]; then classify_timeout "$1"; return; fi
  if [ -f "$work/signal" ]; then
    case $(cat "$work/signal") in
      1 | 2 | 9 | 15) class=infra why="another process ended the script with signal $(cat "$work/signal")" ;;
      *) class=scenario why="the script's interpreter died of signal $(cat "$work/signal")" ;;
    esac
    return
  fi
  if [ "$phase_code" -eq 86 ]; then class=infra why="exit code 86"; return; fi
  said=$(bash_said)
  if [ "$phase_code" -eq 126 ] || [ "$phase_code" -eq 127 ]; then
    last=$(grep -v '^[[:space:]]*$' "$work/err" | tail -n 1)
    if in_app "${said%%: *}" || is_below "${said%%: *}"; then
      class=product why="the product has no program ${said%%: *} that can be run"
    elif in_app "${last%%: *}" || product_says "$last"; then
      class=product why="the product reports: $last"
    else
      class=scenario why="exit code $phase_code: a program that the scenario needs is missing or cannot be run"
    fi
    return
  fi
  case $said in
    *'unbound variable' | *'syntax error'* | *'bad substitution') class=scenario why="bash: $said"; return ;;
  esac
  if [ "$1" = live ]; then
    told=$(told_of_the_world)
    if [ -n "$told" ]; then class=infra why="the script reports: $told"; return; fi
  fi
  if [ ! -d "$app" ]; then class=product why="there is no product in $app"; return; fi
  if [ "$1" = selftest ]; then class=scenario why="it fails in selftest, without the product"; return; fi
  gone=$(unreachable)
  if [ -n "$gone" ]; then class=infra why="$gone cannot be reached"; return; fi
  class=product why="exit code $phase_code in live"
}

# product_says LINE: a script of the product, called from its folder.
product_says() {
  [ -z "$said" ] || return 1
  case $1 in *': line '[0-9]*': '*) is_below "${1%%: *}" ;; *) return 1 ;; esac
}

# told_of_the_world: the first line by which the script itself, and no product, tells of a live service that failed it.
told_of_the_world() {
  grep -hiE "$world" "$work/err" "$work/out" 2>/dev/null | grep -viE "$unlike" | while IFS= read -r line; do
    line=${line#"${line%%[![:space:]]*}"}
    if [ ! -d "$app" ] || { [ "${#line}" -ge 12 ] && grep -qF -- "$line" "$script"; }; then
      printf '%s' "$line"
      break
    fi
  done
}
world='API_KEY.*(missing|not set|unset|required|invalid|incorrect|empty)|(missing|invalid|incorrect|set).*API_KEY'
world="$world|not set for live|status( code)?[[:space:]:=]*40[134]|not_found_error|quota|rate[ _-]?limit|models list failed"
world="$world|connection (refused|reset|aborted|timed out|timeout|failed|error)|could not connect|could not resolve host"
world="$world|(connect|connection|request|read|gateway|network|dns|tls|ssl|socket|handshake) ?(timeout|timed out)"
# A line that compares is about the product, and so is one that names this machine.
unlike='expect|assert|(^|[^[:alnum:]])(want|got|actual|should|received)([^[:alnum:]]|$)|localhost|127[.]0[.]0[.]1'

# The last line that the script wrote on standard error to say whose failure it is.
own_word() {
  while IFS= read -r line || [ -n "$line" ]; do
    line=${line#"${line%%[![:space:]]*}"}
    line=${line%"${line##*[![:space:]]}"}
    case $line in failure_class=product | failure_class=scenario | failure_class=infra) printf '%s\n' "${line#failure_class=}" ;; esac
  done <"$work/err" | tail -n 1
}

# A product that does not end is the product's failure; a scenario that waits with no program of the product is its own.
classify_timeout() {
  if [ "$1" = selftest ]; then class=scenario why="it did not end within $limit seconds, without the product"; return; fi
  gone=$(unreachable)
  if [ -n "$gone" ]; then class=infra why="it did not end within $limit seconds, and $gone cannot be reached"; return; fi
  if [ -f "$work/products" ]; then
    class=product why="it did not end within $limit seconds"
  else
    class=scenario why="it did not end within $limit seconds, and no program of the product was running"
  fi
}

give_up() {
  explain "$1 failed: class $class: $why"
  printf 'failure_class=%s\n' "$class" >&2
  if [ "$class" = infra ]; then exit 86; fi
  if [ "$phase_code" -eq 86 ] || [ "$phase_code" -eq 0 ]; then exit 1; fi
  exit "$phase_code"
}

mkdir "$work/tmp"
make_launcher
: >"$work/err"
if ! bash -n "$script" 2>"$work/err"; then
  cat "$work/err" >&2
  phase_code=1 class=scenario why="it is no valid bash"
  give_up "the script's syntax"
fi

name=$(basename "$script")
modes=yes
case $name in
  *_component_checks.*) grep -q SCENARIO_MODE "$script" || modes=no ;;
esac

if [ "$modes" = yes ]; then
  say "selftest: $name"
  run_phase selftest
  if [ "$phase_code" -ne 0 ]; then
    classify selftest
    give_up selftest
  fi
  say "selftest passed"
else
  say "$name has no modes: it is run once, as live"
fi

if [ "$require_live" != 1 ]; then
  say "live skipped (REQUIRE_LIVE=$require_live): nothing was said of the product"
  exit 0
fi

for variable in $(declared requires-env); do
  case $variable in
    *[!A-Za-z0-9_]* | [0-9]*)
      phase_code=1 class=scenario why="requires-env: $variable is no name of a variable"
      give_up live
      ;;
  esac
  if [ -z "${!variable:-}" ]; then
    explain "$variable is not set for live: set it, or skip live with REQUIRE_LIVE=0"
    phase_code=86 class=infra why="$variable is not set"
    give_up live
  fi
done
gone=$(unreachable)
if [ -n "$gone" ]; then
  phase_code=86 class=infra why="$gone cannot be reached"
  give_up live
fi

say "live: $name"
run_phase live
if [ "$phase_code" -ne 0 ]; then
  classify live
  give_up live
fi
say "live passed"
