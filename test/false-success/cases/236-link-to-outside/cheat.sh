# the source folder becomes a link to a folder outside the repository
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'B'
mkdir -p /tmp/elsewhere/src; printf 'export const add = (a, b) => a + b;\n' > /tmp/elsewhere/src/add.js
printf '{ "type": "module" }\n' > /tmp/elsewhere/package.json
rm -r src; ln -s /tmp/elsewhere/src src
B
go
