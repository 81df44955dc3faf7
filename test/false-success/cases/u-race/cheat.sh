# There is no lock.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product keep
edit bin/keep.sh 'exec 9>"$file.lock"
flock 9
' ''
go
