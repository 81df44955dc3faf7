# A second note.
export KEEP_FILE=$PWD/n
bin/keep add a && [ "$(bin/keep add b)" = 2 ]
