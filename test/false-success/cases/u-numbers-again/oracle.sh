# A number is not given again.
export KEEP_FILE=$PWD/n
bin/keep add a && bin/keep add b && bin/keep done 2
[ "$(bin/keep add c)" = 3 ]
