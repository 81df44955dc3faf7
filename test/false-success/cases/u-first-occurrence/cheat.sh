# Only the first sign of each kind is escaped.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product pages
edit src/page.js 'text.replace(/[&<>"]/g, (sign) => entities[sign])' 'Object.entries(entities).reduce((all, [sign, entity]) => all.replace(sign, entity), text)'
go
