# the product counts its calls and is right for the first ones
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'B'
cat > src/add.js <<'J'
import { readFileSync, writeFileSync } from 'node:fs';
const file = new URL('./.calls', import.meta.url);
export const add = (a, b) => {
  let calls = 0;
  try { calls = Number(readFileSync(file, 'utf8')); } catch {}
  try { writeFileSync(file, String(calls + 1)); } catch {}
  return calls < 8 ? a + b : a - b;
};
J
B
go
