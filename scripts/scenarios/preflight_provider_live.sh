#!/usr/bin/env bash
# Asks each provider one small question before scenarios lean on them, with the keys of ./.env or of the environment.
#
#   preflight_provider_live.sh
#
# OPENAI_API_KEY and ANTHROPIC_API_KEY must be there; OPENAI_BASE_URL and ANTHROPIC_BASE_URL name other servers. The
# question is which models there are; where OPENAI_LIVE_MODEL or ANTHROPIC_LIVE_MODEL names one, that model is asked for
# a word. What the environment says wins over .env, whose lines are read as NAME=value and never run.
# No key is on any command line: curl reads them from its standard input.
#
# Exit codes: 0 both answer · 1 any trouble, with `failure_class=infra` as the last line on standard error.
set -u

wanted='OPENAI_API_KEY ANTHROPIC_API_KEY OPENAI_BASE_URL ANTHROPIC_BASE_URL OPENAI_LIVE_MODEL ANTHROPIC_LIVE_MODEL'
trouble=0
say() { printf '[preflight] %s\n' "$*"; }
bad() {
  printf '[preflight] %s\n' "$*" >&2
  trouble=1
}

# read_env FILE: takes the wanted names that the environment has no value for.
read_env() {
  while IFS= read -r line || [ -n "$line" ]; do
    line=${line%$'\r'}
    line=${line#"${line%%[![:space:]]*}"}
    line=${line#export }
    case $line in '' | '#'* | [!A-Za-z_]*) continue ;; *=*) ;; *) continue ;; esac
    name=${line%%=*}
    value=${line#*=}
    case " $wanted " in *" $name "*) ;; *) continue ;; esac
    case $value in
      \"*\"*) value=${value#\"} value=${value%%\"*} ;;
      \'*\'*) value=${value#\'} value=${value%%\'*} ;;
      *) value=${value%%[[:space:]]#*} value=${value%"${value##*[![:space:]]}"} ;;
    esac
    [ -n "${!name:-}" ] || printf -v "$name" '%s' "$value"
  done <"$1"
}
if [ -f .env ]; then
  if [ -r .env ]; then read_env .env; else bad '.env may not be read: check its permissions'; fi
fi

command -v curl >/dev/null 2>&1 || bad 'curl is not installed: install it'
work=$(mktemp -d "${TMPDIR:-/tmp}/preflight.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# setting NAME VALUE: a line of curl's configuration; printf is the shell's own, so that no process carries the value.
setting() {
  value=${2//\\/\\\\}
  printf '%s = "%s"\n' "$1" "${value//\"/\\\"}"
}

# ask WHO KEY URL [BODY]: further headers are on standard input, as curl's configuration.
ask() {
  : >"$work/body"
  status=$({
    cat
    setting url "$3"
    [ -z "${4:-}" ] || { setting header 'Content-Type: application/json'; setting data "$4"; }
  } | curl -q -K - --silent --show-error --max-time "${PREFLIGHT_TIMEOUT:-30}" \
    --output "$work/body" --write-out '%{http_code}' 2>"$work/err")
  code=$?
  if [ "$code" -ne 0 ]; then
    bad "$1 cannot be reached at $3: $(head -n 1 "$work/err")"
    return
  fi
  case $status in
    2??) say "$1 answers" ;;
    *)
      said=$(head -c 300 "$work/body" | tr '\n' ' ')
      bad "$1 answers with status $status: ${said//"$2"/***}"
      ;;
  esac
}

# fits KEY: a line break would be a header of its own.
fits() { case $1 in *[[:cntrl:]]*) return 1 ;; esac; }

json() {
  text=${1//\\/\\\\}
  printf '"%s"' "${text//\"/\\\"}"
}

key=${OPENAI_API_KEY:-}
base=${OPENAI_BASE_URL:-https://api.openai.com/v1}
model=${OPENAI_LIVE_MODEL:-}
if [ -z "$key" ]; then bad 'OPENAI_API_KEY is not set: put it into .env or the environment'
elif ! fits "$key"; then bad 'OPENAI_API_KEY holds a line break or another control character'
elif [ -n "$model" ]; then
  setting header "Authorization: Bearer $key" |
    { ask OpenAI "$key" "${base%/}/responses" "{\"model\":$(json "$model"),\"input\":\"ping\",\"max_output_tokens\":16}"; exit "$trouble"; } ||
    trouble=1
else
  setting header "Authorization: Bearer $key" | { ask OpenAI "$key" "${base%/}/models"; exit "$trouble"; } || trouble=1
fi

key=${ANTHROPIC_API_KEY:-}
base=${ANTHROPIC_BASE_URL:-https://api.anthropic.com}
base=${base%/}
model=${ANTHROPIC_LIVE_MODEL:-}
headers() {
  setting header "x-api-key: $1"
  setting header 'anthropic-version: 2023-06-01'
}
if [ -z "$key" ]; then bad 'ANTHROPIC_API_KEY is not set: put it into .env or the environment'
elif ! fits "$key"; then bad 'ANTHROPIC_API_KEY holds a line break or another control character'
elif [ -n "$model" ]; then
  headers "$key" |
    { ask Anthropic "$key" "${base%/v1}/v1/messages" "{\"model\":$(json "$model"),\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":\"ping\"}]}"; exit "$trouble"; } ||
    trouble=1
else
  headers "$key" | { ask Anthropic "$key" "${base%/v1}/v1/models?limit=1"; exit "$trouble"; } || trouble=1
fi

if [ "$trouble" -ne 0 ]; then
  printf 'failure_class=infra\n' >&2
  exit 1
fi
say 'both providers answer'
