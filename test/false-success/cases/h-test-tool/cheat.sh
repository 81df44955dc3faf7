# Honest: a command of the product prints what test runners print.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
printf 'export const add = (a, b) => a + b;\n' >src/add.js
printf '#!/usr/bin/env node\nimport { add } from "../src/add.js";\nconst rows = process.argv.slice(2).map((row) => row.split(","));\nconst failed = rows.filter(([a, b, sum]) => add(Number(a), Number(b)) !== Number(sum));\nconsole.log(`# tests ${rows.length}\\n# pass ${rows.length - failed.length}\\n# fail ${failed.length}`);\nprocess.exit(failed.length > 0 ? 1 : 0);\n' >bin/check.js
printf 'import { test } from "node:test";\nimport assert from "node:assert/strict";\nimport { spawnSync } from "node:child_process";\ntest("a table", () => { assert.match(spawnSync("node", ["bin/check.js", "1,2,3"], { encoding: "utf8" }).stdout, /# pass 1/); });\n' >test/check.test.js
BUILDER
go
