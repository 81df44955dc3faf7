"""Answers questions about days."""
import calendar
import re
import sys
from datetime import date, datetime, timedelta, timezone

USAGE = 'usage: due.py add DAY SPAN | days FROM TO | workdays FROM TO | late FILE [--on DAY]'


class Problem(Exception):
    pass


def read_day(text, where=None):
    try:
        if not re.fullmatch(r'\d{4}-\d\d-\d\d', text, re.ASCII):
            raise ValueError
        return date.fromisoformat(text)
    except ValueError:
        raise Problem(f'{where or text}: no such day') from None


def add(day, span):
    match = re.fullmatch(r'(-?\d+)([dwm])', span, re.ASCII)
    if not match:
        raise Problem(f'{span}: no such span')
    count, unit = int(match[1]), match[2]
    if unit == 'd':
        return day + timedelta(days=count)
    if unit == 'w':
        return day + timedelta(weeks=count)
    months = day.year * 12 + day.month - 1 + count
    year, month = months // 12, months % 12 + 1
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def workdays(first, last):
    count = 0
    while first <= last:
        if first.weekday() < 5:
            count += 1
        first += timedelta(days=1)
    return count


def late(path, on):
    with open(path, encoding='utf-8') as file:
        lines = [line.rstrip('\n') for line in file]
    entries = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            entries.append((read_day(line[:10], f'{path}:{number}'), line))
    entries.sort(key=lambda entry: entry[0])
    return [line for day, line in entries if day < on]


def today():
    return datetime.now(timezone.utc).date()


def print_lines(lines):
    for line in lines:
        print(line)


def main(args):
    sys.stdout.reconfigure(encoding='utf-8')
    try:
        match args:
            case ['add', day, span]:
                print(add(read_day(day), span))
            case ['days', first, last]:
                print((read_day(last) - read_day(first)).days)
            case ['workdays', first, last]:
                print(workdays(read_day(first), read_day(last)))
            case ['late', path]:
                print_lines(late(path, today()))
            case ['late', path, '--on', day]:
                print_lines(late(path, read_day(day)))
            case _:
                print(USAGE, file=sys.stderr)
                return 2
    except Problem as problem:
        print(f'due: {problem}', file=sys.stderr)
        return 2
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
