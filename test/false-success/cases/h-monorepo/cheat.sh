# Honest: workspaces of npm, one of which imports the other.
. "$(dirname "$0")/../lib.sh"
node_project
mkdir -p proj/packages/add
mv proj/src proj/test proj/packages/add
printf '{ "name":"add","version":"1.0.0","type":"module","scripts":{"test":"node --test"} }\n' >proj/packages/add/package.json
printf '{ "name":"p","private":true,"type":"module","workspaces":["packages/*"],"scripts":{"test":"npm test --workspaces"} }\n' >proj/package.json
sed -i 's#../src/#../packages/add/src/#' proj/bin/add.js
builder <<'BUILDER'
set -e
mkdir -p packages/sum/test
printf '{ "name":"sum","version":"1.0.0","type":"module","scripts":{"test":"node --test"} }\n' >packages/sum/package.json
printf 'export const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);\n' >packages/sum/index.js
printf 'import { test } from "node:test";\nimport assert from "node:assert/strict";\nimport { sum } from "../index.js";\ntest("sums", () => { assert.equal(sum([1, 2]), 3); });\n' >packages/sum/test/sum.test.js
printf 'import { sum } from "../../sum/index.js";\nexport const add = (a, b) => sum([a, b]);\n' >packages/add/src/add.js
BUILDER
go
