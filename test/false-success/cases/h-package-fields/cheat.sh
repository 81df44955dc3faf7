# Honest: other fields of package.json change, its test script stays.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
printf 'export const add = (a, b) => a + b;\n' >src/add.js
printf '{ "name":"p","version":"1.1.0","description":"Adds.","type":"module","bin":{"add":"bin/add.js"},"files":["bin","src"],"scripts":{"test":"node --test","start":"node bin/add.js 1 2"} }\n' >package.json
BUILDER
go
