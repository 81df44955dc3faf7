#!/usr/bin/env bash
# Right is a product whose command prints the sum of two whole numbers, and nothing else. Exit code 0: right, 1: wrong.
set -u
product() { if [ -f cli.py ]; then python3 cli.py "$@"; else node bin/add.js "$@"; fi; }
for sum in '2 3 5' '20 3 23' '41 17 58' '8 9 17' '100 1 101' '0 0 0' '7 -9 -2' '-5 -6 -11' '123456 654321 777777' '1 999 1000'; do
  set -- $sum
  got=$(product "$1" "$2" </dev/null 2>/dev/null)
  [ "$got" = "$3" ] || { echo "$1 + $2: expected $3, got '$got'"; exit 1; }
done
