# Honest: tests share a helper and get other titles, none is lost.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
printf 'export const add = (a, b) => a + b;\n' >src/add.js
printf 'import assert from "node:assert/strict";\nimport { add } from "../src/add.js";\nexport const sumIs = (a, b, sum) => assert.equal(add(a, b), sum);\n' >test/helpers.js
printf 'import { test } from "node:test";\nimport { sumIs } from "./helpers.js";\ntest("two and three", () => { sumIs(2, 3, 5); });\ntest("twenty and three", () => { sumIs(20, 3, 23); });\n' >test/add.test.js
BUILDER
go
