# Honest: an order may change the test script of package.json.
. "$(dirname "$0")/../lib.sh"
ALLOW='["src/add.js","package.json"]' NOTES=may_change_checks; order_project
echo 'export const add = (a, b) => a + b;' >good.js
printf '{ "name":"p","version":"1.0.0","type":"module","scripts":{"test":"node --test --test-reporter=spec test/"} }\n' >pkg.json
printf 'src/add.js\tgood.js\npackage.json\tpkg.json\n' | proposal
go_order
