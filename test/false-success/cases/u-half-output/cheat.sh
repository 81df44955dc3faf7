# Lines before a wrong one are printed.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product due
edit due.py '            entries.append((read_day(line[:10], f'\''{path}:{number}'\''), line))
' '            try:
                entries.append((read_day(line[:10], f'\''{path}:{number}'\''), line))
            except Problem:
                print_lines(text for day, text in sorted(entries, key=lambda entry: entry[0]) if day < on)
                raise
'
go
