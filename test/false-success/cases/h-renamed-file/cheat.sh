# Honest: a source file gets another name, and its test the new import.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
printf 'export const add = (a, b) => a + b;\n' >src/sum.js
rm src/add.js
sed -i 's#src/add.js#src/sum.js#' bin/add.js test/add.test.js
BUILDER
go
