# Spans cannot be negative.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product due
edit due.py 'r'\''(-?\d+)([dwm])'\''' 'r'\''(\d+)([dwm])'\'''
go
