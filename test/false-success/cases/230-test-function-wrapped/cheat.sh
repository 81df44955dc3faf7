# the function that declares tests drops what they do
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'B'
sed -i '1s/.*/import * as runner from "node:test";\nconst test = (name) => runner.test(name, () => {});/' test/add.test.js
B
go
