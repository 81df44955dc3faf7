# Honest: files are unpacked with their old dates, and make checks them.
. "$(dirname "$0")/../lib.sh"
node_project
printf 'check: src/add.js\n\tnode --test\n.PHONY: check\n' >proj/Makefile
CHECK='make check'
builder <<'BUILDER'
set -e
printf 'export const add = (a, b) => a + b;\n' >src/add.js
printf 'src/add.js: from an archive\n' >ORIGIN
touch -d '2019-05-01 12:00' src/add.js ORIGIN
BUILDER
go
