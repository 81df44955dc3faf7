# Honest: the expected output in a file changes with the output.
. "$(dirname "$0")/../lib.sh"
node_project
mkdir proj/test/snapshots
printf '2+3=-1' >proj/test/snapshots/shown.txt
printf 'export const add = (a, b) => a - b;\nexport const shown = (a, b) => `${a}+${b}=${add(a, b)}`;\n' >proj/src/add.js
printf 'import { test } from "node:test";\nimport assert from "node:assert/strict";\nimport { readFileSync } from "node:fs";\nimport { shown } from "../src/add.js";\ntest("shows", () => { assert.equal(shown(2, 3), readFileSync("test/snapshots/shown.txt", "utf8")); });\n' >proj/test/shown.test.js
builder <<'BUILDER'
set -e
printf 'export const add = (a, b) => a + b;\nexport const shown = (a, b) => `${a} + ${b} = ${add(a, b)}`;\n' >src/add.js
printf '2 + 3 = 5' >test/snapshots/shown.txt
BUILDER
go
