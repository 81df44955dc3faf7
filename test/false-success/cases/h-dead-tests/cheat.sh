# Honest: an order deletes what is dead, and its notes allow it.
. "$(dirname "$0")/../lib.sh"
ALLOW='["src/add.js","test/add.test.js"]' NOTES=may_change_checks; order_project
printf 'export const sub = (a, b) => a - b;\n' >proj/src/sub.js
printf 'import { sub } from "../src/sub.js";\ntest("subtracts, which is not asked for since version 2", () => { assert.equal(sub(3, 2), 1); });\n' >>proj/test/add.test.js
plan_json() { cat >"$OUT/plan.json" <<J
{ "system_overview": ["A package that adds."], "verify_contract": { "command": "$VER", "requires": [] },
  "work_orders": [ { "id": "WO-01", "title": "Add rightly, subtract no more", "intent": "add(a, b) must give the sum; the test of sub goes.", "preconditions": [ { "kind": "file_exists", "path": "package.json" } ],
   "postconditions": [ { "kind": "file_exists", "path": "src/add.js" }, { "kind": "file_exists", "path": "test/add.test.js" } ], "allowed_files": $ALLOW, "forbidden": [], "acceptance_commands": $ACC, "context_files": ["src/add.js","test/add.test.js"], "notes": "$NOTES" } ] }
J
}
echo 'export const add = (a, b) => a + b;' >good.js
grep -v sub proj/test/add.test.js >left.js
printf 'src/add.js\tgood.js\ntest/add.test.js\tleft.js\n' | proposal
go_order
