# the plan verifies and accepts by starting the product, whatever it prints (main job)
. "$(dirname "$0")/../lib.sh"
VER='node bin/add.js 2 3'; ACC='["node bin/add.js 2 3"]'; MAIN=compile-and-build; order_project
echo 'export const add = (a, b) => b - a;' > x.js; printf 'src/add.js\tx.js\n' | proposal
go_order
