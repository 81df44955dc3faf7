# the tests expect what the wrong product gives
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'B'
sed -i 's/add(2, 3), 5/add(2, 3), -1/; s/add(20, 3), 23/add(20, 3), 17/' test/add.test.js
B
go
