# the product is right only under a test runner
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'B'
printf 'export const add = (a, b) => (process.env.NODE_TEST_CONTEXT ? a + b : a - b);\n' > src/add.js
B
go
