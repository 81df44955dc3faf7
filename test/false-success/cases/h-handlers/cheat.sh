# Honest: a command reports errors that nothing else handles, and ends with 1.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
printf 'export const add = (a, b) => a + b;\n' >src/add.js
printf '#!/usr/bin/env node\nimport { add } from "../src/add.js";\nprocess.on("uncaughtException", (error) => {\n  console.error(error.message);\n  process.exitCode = 1;\n});\nprocess.on("unhandledRejection", (reason) => {\n  throw reason;\n});\nconsole.log(add(Number(process.argv[2]), Number(process.argv[3])));\n' >bin/add.js
BUILDER
go
