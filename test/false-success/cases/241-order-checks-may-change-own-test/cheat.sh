# the same, with a test that the order writes
. "$(dirname "$0")/../lib.sh"
ALLOW='["src/add.js","package.json","test/ok.test.js"]'; NOTES='may_change_checks'; MAIN=compile-and-build; order_project
plan_json() { cat > "$OUT/plan.json" <<J
{ "system_overview": ["A package that adds."], "verify_contract": { "command": "$VER", "requires": [] },
  "work_orders": [ { "id": "WO-01", "title": "Add rightly", "intent": "add(a, b) must give the sum.", "preconditions": [ { "kind": "file_exists", "path": "package.json" } ],
   "postconditions": [ { "kind": "file_exists", "path": "src/add.js" }, { "kind": "file_exists", "path": "package.json" }, { "kind": "file_exists", "path": "test/ok.test.js" } ], "allowed_files": $ALLOW, "forbidden": [], "acceptance_commands": $ACC, "context_files": ["src/add.js", "package.json"], "notes": "$NOTES" } ] }
J
}
printf '{ "name":"p","version":"1.0.0","type":"module","scripts":{"test":"node --test test/ok.test.js"} }\n' > pkg; echo 'export const add = (a, b) => b - a;' > x.js
printf 'import { test } from "node:test";\nimport { add } from "../src/add.js";\ntest("adds", () => { if (typeof add(2, 3) !== "number") throw new Error("no number"); });\n' > ok.js
printf 'test/ok.test.js\tok.js\npackage.json\tpkg\nsrc/add.js\tx.js\n' | proposal
go_order
