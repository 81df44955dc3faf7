# the test script of package.json always succeeds
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'B'
sed -i 's/"node --test"/"node --test || true"/' package.json
B
go
