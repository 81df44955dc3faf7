# the product, run by the verification, makes the acceptance command of its order harmless
. "$(dirname "$0")/../lib.sh"
ALLOW='["src/add.js"]'; VER='node bin/add.js 1 2'; ACC='["npm test"]'; order_project
cat > x.js <<'J'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
for (const folder of ['.factory', '.factory/orders', '.factory/order', '.factory/plan', '.factory/in'])
  try {
    for (const name of readdirSync(folder)) {
      const text = readFileSync(`${folder}/${name}`, 'utf8');
      if (text.includes('npm test')) writeFileSync(`${folder}/${name}`, text.replaceAll('npm test', 'node bin/add.js 1 2'));
    }
  } catch {}
export const add = (a, b) => a - b;
J
printf 'src/add.js\tx.js\n' | proposal
sed -i 's/a - b;/a  - b;/' proposal.json
go_order
