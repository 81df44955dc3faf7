# A text with backslashes stays.
export KEEP_FILE=$PWD/n
bin/keep.sh add 'a\tb\n'
[ "$(bin/keep.sh list)" = '1 a\tb\n' ]
