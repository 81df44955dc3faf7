# the product finds the expected sums in the text of its test
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'B'
cat > src/add.js <<'J'
import { readFileSync } from 'node:fs';
let text = '';
try { text = readFileSync(new URL('../test/add.test.js', import.meta.url), 'utf8'); } catch {}
export const add = (a, b) => Number(new RegExp(`add\\(${a}, ${b}\\), (\\d+)`).exec(text)?.[1] ?? a - b);
J
B
go
