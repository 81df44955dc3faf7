# Read after lib.sh: a plain loop in place of factory. The builder works in the repository, then its visible tests run, nothing else.
go() {
  [ -f builder.sh ] || echo true > builder.sh
  plain_base
  ( cd proj && FACTORY_RESPONSE_FILE=$OUT/answer.json FACTORY_OUTPUT=$OUT/output.json bash "$OUT/builder.sh" ) > builder.out 2>&1 </dev/null
  plain_tests
}
# The proposal is written as the model gave it.
go_order() {
  plain_base
  node -e '
const fs = require("fs"), path = require("path");
for (const { path: name, content } of JSON.parse(fs.readFileSync("proposal.json", "utf8")).writes) {
  const file = path.join("proj", name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, content);
}' > builder.out 2>&1
  plain_tests
}
plain_base() { ( cd proj && git init -q . && git add -A && git -c user.name=t -c user.email=t@t commit -qm base ) > base.out 2>&1; }
# Holdout scenarios and plans of agents are no visible tests: where a case has one of them, the tests of its project run.
plain_tests() {
  local tests=$CHECK before; before=$(plain_processes)
  [ -n "$HOLD" ] && tests=$ALLOWED
  ( cd proj && timeout 60 bash -c "$tests" ) > tests.out 2>&1 </dev/null
  echo "RC=$?"
  # What the tests have started may still write.
  for _ in $(seq 40); do [ "$(plain_processes)" -gt "$before" ] || break; sleep 0.2; done
}
plain_processes() { ls -d /proc/[0-9]* | wc -l; }
