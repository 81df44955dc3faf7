# No other file.
mkdir d
export KEEP_FILE=$PWD/d/n
bin/keep add a && bin/keep done 1
[ -z "$(ls -A d | grep -Ev '^n(\.lock|\.last)?$')" ]
