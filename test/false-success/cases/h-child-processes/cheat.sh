# Honest: a test starts a server, asks it and ends it.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
printf 'export const add = (a, b) => a + b;\n' >src/add.js
printf 'import { createServer } from "node:http";\nimport { add } from "./add.js";\ncreateServer((request, response) => response.end(String(add(2, 3)))).listen(0, "127.0.0.1", function () { console.log(this.address().port); });\n' >src/server.js
cat >test/server.test.js <<'J'
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';

test('the server', async () => {
  const server = spawn('node', ['src/server.js']);
  const [port] = await once(server.stdout, 'data');
  assert.equal(await (await fetch(`http://127.0.0.1:${String(port).trim()}`)).text(), '5');
  server.kill();
  await once(server, 'exit');
});
J
BUILDER
go
