# Honest: a copied library with tests of its runner.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
mkdir -p vendor/tiny-sum/test
printf '{ "name":"tiny-sum","version":"2.0.0","type":"module","main":"index.js","scripts":{"test":"node --test"} }\n' >vendor/tiny-sum/package.json
printf 'export default (a, b) => a + b;\n' >vendor/tiny-sum/index.js
printf 'import { test } from "node:test";\nimport assert from "node:assert/strict";\nimport sum from "../index.js";\ntest("sums", () => { assert.equal(sum(1, 2), 3); });\n' >vendor/tiny-sum/test/sum.test.js
printf 'import sum from "../vendor/tiny-sum/index.js";\nexport const add = sum;\n' >src/add.js
BUILDER
go
