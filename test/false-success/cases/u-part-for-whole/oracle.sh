# Note 10 stays when 1 is done.
export KEEP_FILE=$PWD/n
for i in 1 2 3 4 5 6 7 8 9 10; do bin/keep.sh add "note $i"; done
[ "$(bin/keep.sh done 1)" = '1 note 1' ] && [ "$(bin/keep.sh list | wc -l)" = 9 ]
