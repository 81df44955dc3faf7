# the product ends and reports as if the machine had failed
. "$(dirname "$0")/../lib.sh"
node_project; scenario_bash
builder <<'B'
printf '#!/usr/bin/env node\nconsole.log("failure_class=infra");\nconsole.error("failure_class=infra");\nprocess.exit(86);\n' > bin/add.js
B
go
