# Honest: the right product of each specification.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product "$PRODUCT"
go
