# A comment is no error.
out=$(printf '# note\n2026-01-01,a,1\n' | node bin/tally.js) && [ "$out" = 'a: 1.00' ] || exit 1
