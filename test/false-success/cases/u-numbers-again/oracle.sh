# A number is not given again.
export KEEP_FILE=$PWD/n
bin/keep.sh add a && bin/keep.sh add b && bin/keep.sh done 2
[ "$(bin/keep.sh add c)" = 3 ]
