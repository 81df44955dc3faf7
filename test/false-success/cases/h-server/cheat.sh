# Honest: the product is a server, and the scenario asks it on loopback.
. "$(dirname "$0")/../lib.sh"
node_project
scenario_bash
cat >scen/add_user_scenarios.sh <<'S'
#!/usr/bin/env bash
# canary: zebra-4472-lantern-server
set -u
[ "${SCENARIO_MODE:-selftest}" = selftest ] && exit 0
"$APP_RUN" node bin/server.js 18080 >/dev/null 2>&1 </dev/null &
server=$!
for _ in $(seq 100); do curl -sf 'http://127.0.0.1:18080/?a=0&b=0' >/dev/null && break; kill -0 "$server" 2>/dev/null || break; sleep 0.1; done
for row in '41 17 58' '8 9 17'; do
  set -- $row
  got=$(curl -s "http://127.0.0.1:18080/?a=$1&b=$2")
  [ "$got" = "$3" ] || { printf 'FAIL: a sum\n  expected: %s\n  observed: %s\n' "$3" "$got"; exit 1; }
done
S
BEFORE='npm test'
builder <<'BUILDER'
set -e
printf 'export const add = (a, b) => a + b;\n' >src/add.js
cat >bin/server.js <<'J'
import { createServer } from 'node:http';
import { add } from '../src/add.js';

createServer((request, response) => {
  const { searchParams } = new URL(request.url, 'http://localhost');
  response.end(String(add(Number(searchParams.get('a')), Number(searchParams.get('b')))));
}).listen(Number(process.argv[2]), '127.0.0.1');
J
BUILDER
go
