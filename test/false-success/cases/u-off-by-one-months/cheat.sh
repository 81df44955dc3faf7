# A month that ends in December gets the next year.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product due
edit due.py 'months = day.year * 12 + day.month - 1 + count' 'months = day.year * 12 + day.month + count'
edit due.py 'months // 12, months % 12 + 1' 'months // 12, months % 12 or 12'
go
