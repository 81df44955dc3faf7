# Honest: the product writes its settings below the home of its user.
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'BUILDER'
set -e
cat >src/add.js <<'J'
import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export function add(a, b) {
  const folder = join(homedir(), '.config', 'add');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'last'), String(a + b));
  return a + b;
}
J
BUILDER
go
