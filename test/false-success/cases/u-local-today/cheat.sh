# Today is that of the time zone of the machine.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product due
edit due.py 'datetime.now(timezone.utc).date()' 'date.today()'
go
