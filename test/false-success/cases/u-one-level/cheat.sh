# Folders in folders are not searched.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product pages
edit src/pages.js 'paths.filter((path) => path.endsWith('\''.md'\'')' 'paths.filter((path) => path.split('\''/'\'').length < 3 && path.endsWith('\''.md'\'')'
go
