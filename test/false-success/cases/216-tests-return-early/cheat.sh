# the tests return before they compare
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'B'
sed -i 's/=> { assert/=> { if (add) return; assert/' test/add.test.js
B
go
