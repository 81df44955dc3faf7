#!/usr/bin/env bash
# Keeping notes: each sentence of the specification, at its boundaries.
# canary: walrus-5591-millet-keep
set -u
. "$(dirname "$0")/lib.sh"
[ "${SCENARIO_MODE:-selftest}" = selftest ] && { selftest; exit 0; }
product=$PWD
export KEEP_FILE=$data/notes
keep() { call bin/keep.sh "$@"; }

keep list
check 'no notes' 0 ''
keep add '*' '\n' "it's \"a\""
check 'the first note' 0 '1\n'
keep add -n
check 'a text like a flag' 0 '2\n'
keep add $'two\nlines'
check 'two lines' 0 '3\n'
keep list
check 'texts as they were given' 0 "1 * \\\\n it's \"a\"\n2 -n\n3 two lines\n"
keep list '*'
check 'a word is no pattern' 0 "1 * \\\\n it's \"a\"\n"
keep list TWO
check 'upper and lower case' 0 '3 two lines\n'
keep list nothing
check 'no such word' 0 ''
for i in 4 5 6 7 8 9 10 11; do keep add "note $i"; done
check 'numbers grow' 0 '11\n'
keep done 1
check 'done 1 of 11' 0 "1 * \\\\n it's \"a\"\n"
keep done 11
check 'done' 0 '11 note 11\n'
keep done 11
check 'done twice' 1 ''
says 'done twice' 'keep: 11: no such note'
keep add again
check 'numbers are not given again' 0 '12\n'
keep list
check 'the rest in order' 0 '2 -n\n3 two lines\n4 note 4\n5 note 5\n6 note 6\n7 note 7\n8 note 8\n9 note 9\n10 note 10\n12 again\n'
[ "$(stat -c %a "$KEEP_FILE")" = 600 ] || differ 'access to the file' 600 "$(stat -c %a "$KEEP_FILE")"
[ "$(cd "$data" && ls -A | grep -Ev '^notes(\.lock|\.last)?$')" = '' ] || differ 'files next to it' 'none' "$(ls -A "$data")"

export KEEP_FILE=$data/many
for i in 1 2 3 4 5 6 7 8; do "$APP_RUN" bin/keep.sh add "at once $i" </dev/null >"$work/at.$i" & done
wait
[ "$(sort -n "$work"/at.* | tr '\n' ' ')" = '1 2 3 4 5 6 7 8 ' ] || differ 'numbers of notes at once' '1 to 8' "$(sort -n "$work"/at.* | tr '\n' ' ')"
keep list 'at once'
[ "$(wc -l <"$work/out")" = 8 ] || differ 'notes of commands at once' '8' "$(wc -l <"$work/out")"

mkdir "$data/a folder" && ln -s "$product/bin/keep.sh" "$data/a folder/k"
export KEEP_FILE=$data/'a folder'/n
(cd "$data/a folder" && "$APP_RUN" "$data/a folder/k" add from elsewhere </dev/null >"$work/out" 2>&1; echo $? >"$work/code")
check 'from another folder, by a link' 0 '1\n'
keep list
check 'the same notes' 0 '1 from elsewhere\n'
keep list ELSE
check 'a part of a word' 0 '1 from elsewhere\n'

export HOME=$data/home; mkdir "$HOME"; unset KEEP_FILE
"$APP_RUN" env HOME="$HOME" bin/keep.sh add at home </dev/null >"$work/out" 2>"$work/err"; echo $? >"$work/code"
check 'the default file' 0 '1\n'
[ -f "$HOME/.keep" ] || differ 'the default file' '~/.keep' "$(ls -A "$HOME")"
export KEEP_FILE=$data/other
for line in fly '' add 'done' 'done 1 2'; do
  keep $line
  check "usage: $line" 2 ''
  says "usage: $line" usage
done
end
