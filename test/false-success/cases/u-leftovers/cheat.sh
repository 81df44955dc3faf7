# A copy of the notes stays next to them.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product keep
edit bin/keep.sh '  printf '\''%s'\'' "$rest" >"$file"
' '  cp "$file" "$file.$$"
  printf '\''%s'\'' "$rest" >"$file"
'
go
