# A wrong line is reported.
printf 'nonsense\n' | node bin/tally.js 2>err.txt
[ $? = 1 ] && grep -q 'cannot be read' err.txt
