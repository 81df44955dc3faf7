# Notes are kept at home.
unset KEEP_FILE
export HOME=$PWD/h
mkdir h
bin/keep.sh add a
[ -f h/.keep ]
