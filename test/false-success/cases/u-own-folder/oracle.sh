# A note from another folder.
export KEEP_FILE=$PWD/n keep=$PWD/bin/keep.sh
cd / && [ "$("$keep" add a)" = 1 ]
