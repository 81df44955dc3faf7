# Standard output has totals only.
[ -z "$(printf 'nonsense\n' | node bin/tally.js 2>/dev/null)" ]
