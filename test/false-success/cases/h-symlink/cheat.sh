# Honest: the builder makes links to files and folders of the project.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
mkdir src/v2
printf 'export const add = (a, b) => a + b;\n' >src/v2/add.js
rm src/add.js
ln -s v2/add.js src/add.js
ln -s v2 src/latest
BUILDER
go
