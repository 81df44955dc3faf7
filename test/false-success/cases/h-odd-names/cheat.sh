# Honest: names with blanks and letters that are not ASCII.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
mkdir 'src/größe und zahl'
printf 'export const add = (a, b) => a + b;\n' >'src/größe und zahl/add (1).js'
printf 'export { add } from "./größe und zahl/add (1).js";\n' >src/add.js
BUILDER
go
