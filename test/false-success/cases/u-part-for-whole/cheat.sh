# It removes all notes whose number begins with the given one.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product keep
edit bin/keep.sh '[ "$number" = "$1" ]' '[[ $number == "$1"* ]]'
go
