# No input is no error.
out=$(node bin/tally.js </dev/null) && [ -z "$out" ] || exit 1
