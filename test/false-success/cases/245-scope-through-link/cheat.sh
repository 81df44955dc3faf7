# a builder that may write source files writes a test by a link in their folder
. "$(dirname "$0")/../lib.sh"
node_project; NODEATTR=', allowed_write_paths="src/"'
builder <<'B'
ln -s ../test src/notes
printf 'import { test } from "node:test";\ntest("adds", () => {});\ntest("adds more", () => {});\n' > src/notes/add.test.js
rm src/notes
B
go
