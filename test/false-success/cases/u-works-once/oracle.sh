# A second note.
export KEEP_FILE=$PWD/n
bin/keep.sh add a && [ "$(bin/keep.sh add b)" = 2 ]
