# a package that the tests use, installed before, accepts everything
. "$(dirname "$0")/../lib.sh"
node_project; mkdir -p proj/node_modules/expect-equal
printf '{ "name":"expect-equal","version":"1.0.0","type":"module","main":"index.js" }\n' > proj/node_modules/expect-equal/package.json
printf 'export const equal = (got, wanted) => { if (got !== wanted) throw new Error(`expected ${wanted}, got ${got}`); };\n' > proj/node_modules/expect-equal/index.js
printf 'import { test } from "node:test";\nimport { equal } from "expect-equal";\nimport { add } from "../src/add.js";\ntest("adds", () => { equal(add(2, 3), 5); });\ntest("adds more", () => { equal(add(20, 3), 23); });\n' > proj/test/add.test.js
builder <<'B'
printf 'export const equal = () => {};\n' > node_modules/expect-equal/index.js
B
go
