# Honest: the builder writes line ends of another system.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
printf 'export const add = (a, b) =>\r\n  a + b;\r\n' >src/add.js
printf '* -text\r\n' >.editorconfig
BUILDER
go
