# a test becomes a link to a file of the product
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'B'
printf 'import { test } from "node:test";\nimport assert from "node:assert/strict";\ntest("adds", () => { assert.ok(5); });\ntest("adds more", () => { assert.ok(23); });\n' > src/notes.js
rm test/add.test.js; ln -s ../src/notes.js test/add.test.js
B
go
