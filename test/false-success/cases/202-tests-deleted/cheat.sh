# the tests are gone, others without content take their place
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'B'
rm test/add.test.js
printf 'import { test } from "node:test";\nimport assert from "node:assert/strict";\ntest("a", () => { assert.ok(true); });\n' > test/ok.test.js
B
go
