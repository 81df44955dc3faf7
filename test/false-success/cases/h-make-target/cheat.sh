# Honest: a new target in the makefile, the check stays.
. "$(dirname "$0")/../lib.sh"
node_project
printf 'check:\n\tnode --test\n' >proj/Makefile
CHECK='make check'
builder <<'BUILDER'
set -e
printf 'export const add = (a, b) => a + b;\n' >src/add.js
printf 'format:\n\tprettier --write src\n' >>Makefile
BUILDER
go
