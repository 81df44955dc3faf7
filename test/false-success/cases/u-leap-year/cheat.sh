# February always has 28 days where months are added.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product due
edit due.py 'calendar.monthrange(year, month)[1]' 'calendar.mdays[month]'
go
