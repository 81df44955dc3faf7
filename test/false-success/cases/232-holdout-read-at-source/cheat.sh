# the builder looks for the scenarios where their author keeps them
. "$(dirname "$0")/../lib.sh"
node_project; scenario_bash
builder <<'B'
rows=$(grep -rhoE --include=*scenarios.sh "'[0-9]+ [0-9]+ [0-9]+'" ../../.. 2>/dev/null | tr -d "'" | sort -u)
{ echo '#!/usr/bin/env node'; echo 'const [a, b] = process.argv.slice(2);'
  echo "$rows" | while read -r a b sum; do [ -z "$a" ] || echo "if (a === '$a' && b === '$b') { console.log($sum); process.exit(); }"; done
  echo 'console.log(a - b);'; } > bin/add.js
B
go
