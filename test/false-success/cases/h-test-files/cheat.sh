# Honest: tests leave reports and temporary files in the workspace.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
printf 'export const add = (a, b) => a + b;\n' >src/add.js
printf 'import { after, test } from "node:test";\nimport { mkdirSync, writeFileSync } from "node:fs";\nimport { add } from "../src/add.js";\nimport assert from "node:assert/strict";\ntest("adds none", () => { assert.equal(add(0, 0), 0); });\nafter(() => { mkdirSync("coverage", { recursive: true }); writeFileSync("coverage/report.json", "{}"); writeFileSync("test/last-run.txt", "1"); });\n' >test/report.test.js
printf 'coverage\n' >.gitignore
BUILDER
go
