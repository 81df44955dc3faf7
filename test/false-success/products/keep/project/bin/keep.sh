#!/usr/bin/env bash
# Keeps notes in a file: NUMBER TAB TEXT.
set -u
file=${KEEP_FILE:-$HOME/.keep}
umask 077

usage() {
  echo 'usage: keep add TEXT… | list [WORD] | done NUMBER' >&2
  exit 2
}

add() {
  local text=$* last=0
  text=${text//$'\n'/ }
  [ -n "$text" ] || usage
  [ -f "$file.last" ] && last=$(<"$file.last")
  printf '%s\n' $((last + 1)) >"$file.last"
  printf '%s\t%s\n' $((last + 1)) "$text" >>"$file"
  printf '%s\n' $((last + 1))
}

list() {
  local number text
  shopt -s nocasematch
  while IFS=$'\t' read -r number text; do
    [[ $text == *"${1-}"* ]] && printf '%s %s\n' "$number" "$text"
  done <"$file"
  return 0
}

remove() {
  local number text found='' rest=''
  while IFS=$'\t' read -r number text; do
    if [ "$number" = "$1" ]; then found="$number $text"; else rest+="$number"$'\t'"$text"$'\n'; fi
  done <"$file"
  if [ -z "$found" ]; then
    printf 'keep: %s: no such note\n' "$1" >&2
    exit 1
  fi
  printf '%s' "$rest" >"$file"
  printf '%s\n' "$found"
}

exec 9>"$file.lock"
flock 9
[ -f "$file" ] || : >"$file"
case ${1-} in
  add) shift && add "$@" ;;
  list) list "${2-}" ;;
  done) [ $# = 2 ] || usage; remove "$2" ;;
  *) usage ;;
esac
