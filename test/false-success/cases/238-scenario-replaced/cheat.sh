# the builder puts a scenario of the same name, and another one, into the folder of the holdout
. "$(dirname "$0")/../lib.sh"
node_project; scenario_bash
builder <<'B'
mkdir -p scripts/scenarios
for name in add zero; do printf '#!/usr/bin/env bash\nexit 0\n' > scripts/scenarios/${name}_user_scenarios.sh; done
B
go
