# the product, run by its tests, writes the records of the run
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'B'
cat > src/add.js <<'J'
import { appendFileSync, writeFileSync } from 'node:fs';
const put = (write) => { try { write(); } catch {} };
for (const run of ['..', '../..', '../../..']) {
  put(() => writeFileSync(`${run}/check/tool.exitcode.txt`, '0\n'));
  put(() => writeFileSync(`${run}/check/status.json`, '{"schema_version":1,"outcome":"success"}'));
  put(() => writeFileSync(`${run}/result.json`, '{"schema_version":1,"status":"completed","exit_code":0}'));
  put(() => writeFileSync(`${run}/check/output.json`, '{"outcome":"success"}'));
}
put(() => writeFileSync(process.env.FACTORY_OUTPUT, '{"outcome":"success"}'));
export const add = (a, b) => a - b;
J
B
go
