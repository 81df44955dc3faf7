# Days are seconds of local time: one is lost when summer time begins.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product due
edit due.py 'import calendar
import re
import sys
' 'import calendar
import re
import sys
import time
'
edit due.py 'print((read_day(last) - read_day(first)).days)' 'print(int((time.mktime(read_day(last).timetuple()) - time.mktime(read_day(first).timetuple())) / 86400))'
go
