#!/usr/bin/env bash
# Notes become pages, by the specification alone.
# canary: walrus-6681-barley-pages
set -u
. "$(dirname "$0")/lib.sh"
[ "${SCENARIO_MODE:-selftest}" = selftest ] && { selftest; exit 0; }
pages() { call node bin/pages.js "$@"; }
# has FILE TEXT: a page has a line
has() { grep -qxF -- "$2" "$data/out/$1" 2>/dev/null || differ "$1" "$2" "$(head -c 300 "$data/out/$1" 2>&1 | tr '\n' '|')"; }

mkdir -p "$data/notes/trips"
printf '# Home\n\nWelcome & hello.\n\nSee [Rome](trips/rome.md)\nand [this](https://example.org/x.md).\n' >"$data/notes/home.md"
printf '# Rome\n\nOld.\n' >"$data/notes/trips/rome.md"
pages "$data/notes" "$data/out"
check 'two notes' 0 '2 pages\n'
has home.html '<h1>Home</h1>'
has home.html '<p>Welcome &amp; hello.</p>'
has home.html '<p>See <a href="trips/rome.html">Rome</a> and <a href="https://example.org/x.md">this</a>.</p>'
has trips/rome.html '<title>Rome</title>'
has index.html '<li><a href="home.html">Home</a></li>'
has index.html '<li><a href="trips/rome.html">Rome</a></li>'

printf '# Oslo\n\nTo [nowhere](none.md).\n' >"$data/notes/oslo.md"
pages "$data/notes" "$data/out"
check 'a link to a note that does not exist' 1 '3 pages\n'
says 'a link to a note that does not exist' 'oslo.md: no such note: none.md'

pages "$data/none" "$data/other"
check 'no folder' 2 ''
end
