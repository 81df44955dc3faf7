# Honest: the product and its check are bash.
. "$(dirname "$0")/../lib.sh"
sh_project
builder <<'BUILDER'
set -e
printf '#!/usr/bin/env bash\necho $(($1 + $2))\n' >bin/add.sh
chmod +x bin/add.sh
printf '#!/usr/bin/env node\nimport { execFileSync } from "node:child_process";\nprocess.stdout.write(execFileSync("bin/add.sh", process.argv.slice(2)));\n' >bin/add.js
BUILDER
go
