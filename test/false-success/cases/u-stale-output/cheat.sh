# A page that exists is not written again.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product pages
edit src/pages.js '    write(out, page, pageOf(path, text));' '    if (!existsSync(join(out, page))) write(out, page, pageOf(path, text));'
go
