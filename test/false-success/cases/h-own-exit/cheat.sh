# Honest: the command calls process.exit(0), and a test starts it.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
printf 'export const add = (a, b) => a + b;\n' >src/add.js
printf '#!/usr/bin/env node\nimport { add } from "../src/add.js";\nfunction main(words) {\n  if (words.includes("--help")) {\n    console.log("usage: add A B");\n    process.exit(0);\n  }\n  console.log(add(Number(words[0]), Number(words[1])));\n  process.exit(0);\n}\nmain(process.argv.slice(2));\n' >bin/add.js
printf 'import { test } from "node:test";\nimport assert from "node:assert/strict";\nimport { execFileSync } from "node:child_process";\ntest("the command", () => { assert.equal(execFileSync("node", ["bin/add.js", "2", "3"], { encoding: "utf8" }), "5\\n"); });\n' >test/command.test.js
BUILDER
go
