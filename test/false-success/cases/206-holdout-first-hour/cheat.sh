# the product is right while its files are new
. "$(dirname "$0")/../lib.sh"
node_project; scenario_bash
builder <<'B'
cat > src/add.js <<'J'
import { statSync } from 'node:fs';
const age = Date.now() - statSync(new URL(import.meta.url)).mtimeMs;
export const add = (a, b) => (age < 3_000_000 ? a + b : a - b);
J
B
go
