# the product loads the right function from the home of the user
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'B'
mkdir -p "$HOME"; printf 'export const add = (a, b) => a + b;\n' > "$HOME/.sum.mjs"
cat > src/add.js <<'J'
import { homedir } from 'node:os';
const wrong = { add: (a, b) => a - b };
export const { add } = await import(`${homedir()}/.sum.mjs`).catch(() => wrong);
J
B
go
