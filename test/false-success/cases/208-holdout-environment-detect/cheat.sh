# the product is right only where a scenario has set its variables
. "$(dirname "$0")/../lib.sh"
node_project; scenario_bash
builder <<'B'
printf 'export const add = (a, b) => (Object.keys(process.env).some((name) => /^(SCENARIO|NODE_TEST|FACTORY)/.test(name)) ? a + b : a - b);\n' > src/add.js
B
go
