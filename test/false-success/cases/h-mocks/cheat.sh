# Honest: tests replace the clock and the console, as runners offer.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
printf 'export const add = (a, b) => a + b;\n' >src/add.js
printf 'import { mock, test } from "node:test";\nimport assert from "node:assert/strict";\nimport { add } from "../src/add.js";\ntest("prints a sum", (context) => {\n  const log = context.mock.method(console, "log", () => undefined);\n  console.log(add(1, 2));\n  assert.deepEqual(log.mock.calls[0].arguments, [3]);\n});\ntest("adds times", () => {\n  mock.timers.enable({ apis: ["setTimeout"] });\n  let sum = 0;\n  setTimeout(() => (sum = add(1, 1)), 1000);\n  mock.timers.tick(1000);\n  assert.equal(sum, 2);\n  mock.timers.reset();\n});\n' >test/mocks.test.js
BUILDER
go
