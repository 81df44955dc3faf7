# Honest: tests move to another folder.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
printf 'export const add = (a, b) => a + b;\n' >src/add.js
mkdir -p tests/unit
sed 's#"../src/#"../../src/#' test/add.test.js >tests/unit/add.test.js
rm -r test
BUILDER
go
