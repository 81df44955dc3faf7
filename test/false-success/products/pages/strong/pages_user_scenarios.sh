#!/usr/bin/env bash
# Notes become pages: each sentence of the specification, at its boundaries.
# canary: walrus-6691-millet-pages
set -u
. "$(dirname "$0")/lib.sh"
[ "${SCENARIO_MODE:-selftest}" = selftest ] && { selftest; exit 0; }
pages() { call node bin/pages.js "$@"; }
# whole FILE TEXT: all of a page
whole() { printf '%b' "$2" | cmp -s - "$data/out/$1" || differ "$1" "$(printf '%b' "$2" | tr '\n' '|')" "$(head -c 400 "$data/out/$1" 2>&1 | tr '\n' '|')"; }
# files TEXT: what is in the folder of pages
files() { (cd "$data/out" && find . -type f ! -name '.*' | sort | tr '\n' ' ') >"$work/files"; [ "$(cat "$work/files")" = "$1" ] || differ 'files' "$1" "$(cat "$work/files")"; }
page() { printf '<!doctype html>\\n<title>%s</title>\\n<h1>%s</h1>\\n%s' "$1" "$1" "$2"; }

mkdir -p "$data/notes/z y/deep"
printf '# A & <B> "C"\n\n1 < 2 && 3 > 2, "yes".\n\n\nSecond\n  paragraph\nhere.\n' >"$data/notes/a.md"
printf 'No title.\n\nTo [a](../../a.md), [web](http://x.org/a.md) and [plain](b.txt).' >"$data/notes/z y/deep/n.md"
printf '# Über\n' >"$data/notes/B.md"
printf 'not a note' >"$data/notes/b.txt"
pages "$data/notes" "$data/out"
check 'three notes' 0 '3 pages\n'
[ -s "$work/err" ] && differ 'standard error' 'nothing' "$(cat "$work/err")"
whole a.html "$(page 'A &amp; &lt;B&gt; &quot;C&quot;' '<p>1 &lt; 2 &amp;&amp; 3 &gt; 2, &quot;yes&quot;.</p>\n<p>Second paragraph here.</p>\n')"
whole 'z y/deep/n.html' "$(page n '<p>No title.</p>\n<p>To <a href="../../a.html">a</a>, <a href="http://x.org/a.md">web</a> and <a href="b.txt">plain</a>.</p>\n')"
whole B.html "$(page 'Über' '')"
grep '<li>' "$data/out/index.html" >"$work/items"
printf '<li><a href="%s">%s</a></li>\n' B.html 'Über' a.html 'A &amp; &lt;B&gt; &quot;C&quot;' 'z y/deep/n.html' n | cmp -s - "$work/items" || differ 'index.html' 'three pages in order' "$(tr '\n' '|' <"$work/items")"
files './B.html ./a.html ./index.html ./z y/deep/n.html '

echo keep >"$data/out/mine.html"
printf '# New\n\nChanged.\n' >"$data/notes/a.md"
touch -d '2001-01-01' "$data/notes/a.md"
rm "$data/notes/B.md"
printf '# Other\n\n[one](gone.md) [two](B.md)\n' >"$data/notes/c.md"
pages "$data/notes" "$data/out"
check 'again' 1 '3 pages\n'
says 'no such note' 'pages: c.md: no such note: gone.md'
says 'no such note' 'pages: c.md: no such note: B.md'
whole a.html "$(page New '<p>Changed.</p>\n')"
whole c.html "$(page Other '<p><a href="gone.html">one</a> <a href="B.html">two</a></p>\n')"
files './a.html ./c.html ./index.html ./mine.html ./z y/deep/n.html '
grep -q 'B.html' "$data/out/index.html" && differ 'index.html' 'no page of a note that is gone' 'B.html'

rm -r "$data/notes/z y" "$data/notes/c.md"
pages "$data/notes" "$data/out"
check 'one note' 0 '1 page\n'
files './a.html ./index.html ./mine.html '
pages "$data/none" "$data/out"
check 'no folder' 2 ''
says 'no folder' "pages: $data/none: no such folder"
files './a.html ./index.html ./mine.html '
pages "$data/notes/a.md" "$data/other"
check 'a file' 2 ''
[ -e "$data/other" ] && differ 'where nothing is made' 'no folder' "$data/other"
mkdir "$data/empty"
pages "$data/empty" "$data/new/deep"
check 'no notes' 0 '0 pages\n'
pages "$data/notes"
check 'a missing argument' 2 ''
end
