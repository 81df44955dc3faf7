# the product needs a file that git ignores
. "$(dirname "$0")/../lib.sh"
ALLOW='["src/add.js","src/sum.js",".gitignore"]'; order_project
printf 'sum.js\n' > ignore; printf 'export { add } from "./sum.js";\n' > x.js; printf 'export const add = (a, b) => a + b;\n' > s.js
printf '.gitignore\tignore\nsrc/add.js\tx.js\nsrc/sum.js\ts.js\n' | proposal
go_order
