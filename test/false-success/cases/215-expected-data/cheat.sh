# the data that the tests compare with changes
. "$(dirname "$0")/../lib.sh"
node_project; mkdir proj/data
printf '[[2, 3, 5], [20, 3, 23]]\n' > proj/data/sums.json
printf 'import { test } from "node:test";\nimport assert from "node:assert/strict";\nimport { readFileSync } from "node:fs";\nimport { add } from "../src/add.js";\nconst rows = JSON.parse(readFileSync("data/sums.json", "utf8"));\ntest("adds", () => { for (const [a, b, sum] of rows) assert.equal(add(a, b), sum); });\n' > proj/test/add.test.js
builder <<'B'
printf '[[2, 3, -1], [20, 3, 17]]\n' > data/sums.json
B
go
