# Honest: passing tests print what failing ones print.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
printf 'export const add = (a, b) => a + b;\n' >src/add.js
printf 'import { test } from "node:test";\nimport assert from "node:assert/strict";\nimport { add } from "../src/add.js";\ntest("a message about an error", () => { console.log("not ok 1 - FAIL: Error: 0 tests, 3 failed"); console.error("AssertionError: timeout"); assert.equal(add(1, 1), 2); });\n' >test/loud.test.js
BUILDER
go
