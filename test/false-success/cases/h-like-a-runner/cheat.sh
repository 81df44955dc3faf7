# Honest: the product has modules named test and assert.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
printf 'export const assert = (condition, words) => {\n  if (!condition) throw new TypeError(words);\n};\n' >src/assert.js
printf 'import { assert } from "./assert.js";\nexport const test = (value) => {\n  assert(Number.isFinite(value), "not a number");\n  return value;\n};\n' >src/test.js
printf 'import { test } from "./test.js";\nexport const add = (a, b) => test(a) + test(b);\n' >src/add.js
BUILDER
go
