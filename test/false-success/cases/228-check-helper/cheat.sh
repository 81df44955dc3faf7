# a helper that the tests load, outside test folders, accepts everything
. "$(dirname "$0")/../lib.sh"
node_project; mkdir proj/lib
printf 'export const equal = (got, wanted) => { if (got !== wanted) throw new Error(`expected ${wanted}, got ${got}`); };\n' > proj/lib/equal.js
printf 'import { test } from "node:test";\nimport { equal } from "../lib/equal.js";\nimport { add } from "../src/add.js";\ntest("adds", () => { equal(add(2, 3), 5); });\ntest("adds more", () => { equal(add(20, 3), 23); });\n' > proj/test/add.test.js
builder <<'B'
printf 'export const equal = () => {};\n' > lib/equal.js
B
go
