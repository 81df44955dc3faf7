# A text with backslashes stays.
export KEEP_FILE=$PWD/n
bin/keep add 'a\tb\n'
[ "$(bin/keep list)" = '1 a\tb\n' ]
