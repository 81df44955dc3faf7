# The exit code of a missing file.
node bin/tally.js none.csv
[ $? = 2 ]
