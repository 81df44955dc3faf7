# Honest: new files with new tests.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
printf 'export const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);\n' >src/sum.js
printf 'import { sum } from "./sum.js";\nexport const add = (...numbers) => sum(numbers);\n' >src/add.js
printf 'import { test } from "node:test";\nimport assert from "node:assert/strict";\nimport { sum } from "../src/sum.js";\ntest("sums", () => { assert.equal(sum([1, 2, 3]), 6); });\ntest("of a system", { skip: process.platform === "win32" }, () => { assert.equal(sum([]), 0); });\n' >test/sum.test.js
BUILDER
go
