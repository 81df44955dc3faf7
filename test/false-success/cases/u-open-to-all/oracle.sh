# Only the user can read the file.
export KEEP_FILE=$PWD/n
umask 022
bin/keep.sh add a
[ "$(stat -c %a n)" = 600 ]
