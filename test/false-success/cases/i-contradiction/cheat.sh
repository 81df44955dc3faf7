# Spec: it prints the sum of two numbers. What it prints is one character, whatever the numbers are.
. "$(dirname "$0")/../lib.sh"
node_project
scenario_bash
sed -i 's/^exit \$bad/for row in "1 2" "40 2"; do\n  set -- $row\n  got=$("$APP_RUN" node bin\/add.js "$1" "$2" <\/dev\/null)\n  [ ${#got} = 1 ] || { printf "FAIL: the length\\n  expected: one character\\n  observed: %s\\n" "$got"; bad=1; }\ndone\nexit $bad/' scen/add_user_scenarios.sh
BEFORE='npm test'
builder <<'BUILDER'
printf 'export const add = (a, b) => a + b;\n' >src/add.js
BUILDER
go
