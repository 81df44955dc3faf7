# No other file.
mkdir d
export KEEP_FILE=$PWD/d/n
bin/keep.sh add a && bin/keep.sh done 1
[ -z "$(ls -A d | grep -Ev '^n(\.lock|\.last)?$')" ]
