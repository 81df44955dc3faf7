# The lock of the first note stays.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product keep
edit bin/keep.sh 'exec 9>"$file.lock"
flock 9
' ''
edit bin/keep.sh '  local text=$* last=0
' '  local text=$* last=0
  mkdir "$file.lock" || exit 1
'
go
