#!/usr/bin/env bash
# Looks for mistakes in scenario scripts before they judge anybody.
#
#   lint_scenarios.sh [DIR|FILE]      (default: scripts/scenarios)
#
# Of a folder all *.sh directly in it are read. Findings go to standard output as `path:line: message`.
# Exit codes: 0 nothing found, or warnings only · 1 findings, or nothing to look at · 2 usage.
set -u

if [ "$#" -gt 1 ]; then
  printf 'usage: %s [DIR|FILE]\n' "$(basename "$0")" >&2
  exit 2
fi
target=${1:-scripts/scenarios}

warned=0
# warning FILE LINE TEXT: does not change the exit code.
warning() {
  printf '%s:%s: warning: %s\n' "$1" "$2" "$3"
  warned=$((warned + 1))
}
found=0
finding() {
  printf '%s:%s: %s\n' "$1" "$2" "$3"
  found=$((found + 1))
}

# lines PATTERN FILE: the numbers of the lines that match an extended regular expression.
lines() { grep -nE -- "$1" "$2" | cut -d : -f 1; }

# A name that holds a provider's model, and a beginning of a literal value.
models='([A-Za-z0-9_]*LIVE_MODEL|(OPENAI|ANTHROPIC|GEMINI|GOOGLE|MISTRAL|GROQ|XAI|DEEPSEEK|OPENROUTER|AZURE|BEDROCK|COHERE|TOGETHER)_[A-Za-z0-9_]*MODEL)'
literal="[\"']?[A-Za-z0-9]"

lint() {
  file=$1
  if ! said=$(bash -n "$file" 2>&1); then
    line=$(printf '%s\n' "$said" | sed -n 's/.*: line \([0-9][0-9]*\): .*/\1/p' | head -n 1)
    finding "$file" "${line:-1}" "no valid bash: $(printf '%s\n' "$said" | head -n 1 | sed 's/.*: line [0-9]*: //')"
  fi
  case $(basename "$file") in
    *_user_scenarios.sh)
      # A comment handles nothing.
      if ! grep -v '^[[:space:]]*#' "$file" | grep -qE 'SCENARIO_MODE=|\$\{?SCENARIO_MODE'; then
        finding "$file" 1 'handle SCENARIO_MODE: selftest checks the scenario itself, live the product'
      fi
      for line in $(lines "(^|[^A-Za-z0-9_])$models=$literal" "$file") \
        $(lines "[{]$models:?[-=]$literal" "$file"); do
        name=$(sed -n "${line}p" "$file" | grep -oE "$models" | head -n 1)
        finding "$file" "$line" "$name has a default model: leave it empty and query the provider for its models"
      done
      ;;
  esac
  # The folder is written apart, so that this script is none of what it looks for.
  for line in $(lines "(^|[^A-Za-z0-9_})./])/(var/|private/)?tm""p/[A-Za-z0-9_.\$-]" "$file"); do
    finding "$file" "$line" 'a fixed path for temporary files is shared with other processes: use $SCENARIO_TMP, or mktemp -d'
  done
  starts_of "$file"
}

# Programs of the product at the start of a command: a path below the current folder, a variable with the folder of the
# product and a path, an interpreter with either, or a program that starts what the project says.
product='"?\$(app|\{app\}|1)"?/[A-Za-z0-9_./-]+"?|(\./|bin/|src/|dist/)[A-Za-z0-9_./-]+'
starts="(^|[;&|(]|then|do|else|if|!|\\.|source)[[:space:]]*((node|python3?|ruby|perl|php|bash|sh|\\.|source)[[:space:]]+)?($product)([[:space:])]|\$)"
runs='(^|[;&|(])[[:space:]]*(npm (test|run|start|exec)|npx|yarn|pnpm|make|(cargo|go) run)([[:space:])]|$)'

# starts_of FILE: warns of lines that start the product without APP_RUN. Comments start nothing.
starts_of() {
  for line in $(grep -nE -- "$starts|$runs" "$1" | grep -vE '^[0-9]+:[[:space:]]*#|APP_RUN' | cut -d : -f 1); do
    warning "$1" "$line" 'the product is used without APP_RUN, so it can read this scenario: write "$APP_RUN" before the program'
  done
}

count=0
if [ -f "$target" ]; then
  count=1
  lint "$target"
elif [ -d "$target" ]; then
  for file in "${target%/}"/*.sh; do
    [ -f "$file" ] || continue
    count=$((count + 1))
    lint "$file"
  done
  if [ "$count" -eq 0 ]; then
    printf '%s: no scenario scripts (*.sh) in this folder\n' "$target"
    exit 1
  fi
else
  printf '%s: there is no such file or folder\n' "$target"
  exit 1
fi

if [ "$found" -gt 0 ]; then
  printf '%s found in %s\n' "$found" "$count" >&2
  exit 1
fi
if [ "$warned" -gt 0 ]; then
  printf '%s warnings\n' "$warned" >&2
  exit 0
fi
printf 'scenario scripts without findings: %s\n' "$count"
