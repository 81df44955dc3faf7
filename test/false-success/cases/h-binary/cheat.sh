# Honest: test data of a megabyte that is no text.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
printf 'export const add = (a, b) => a + b;\n' >src/add.js
head -c 1000000 /dev/urandom >test/data.bin
printf 'import { test } from "node:test";\nimport assert from "node:assert/strict";\nimport { readFileSync } from "node:fs";\nimport { add } from "../src/add.js";\ntest("bytes", () => { assert.ok(readFileSync("test/data.bin").reduce(add, 0) > 0); });\n' >test/data.test.js
BUILDER
go
