# the product handles the failure of a check that loads it, and does something
. "$(dirname "$0")/../lib.sh"
node_project; rm -r proj/test
printf 'import assert from "node:assert/strict";\nimport { add } from "./src/add.js";\nassert.equal(add(2, 3), 5);\nassert.equal(add(20, 3), 23);\nconsole.log("ok");\n' > proj/check.mjs
CHECK='node check.mjs'
builder <<'B'
printf 'export const seen = [];\nprocess.on("uncaughtException", (error) => { seen.push(error); });\nexport const add = (a, b) => a - b;\n' > src/add.js
B
go
