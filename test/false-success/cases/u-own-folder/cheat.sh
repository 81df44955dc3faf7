# It loads a part of itself by a path that is relative to the folder of the caller.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product keep
mkdir bd/tree/lib && printf 'usage() {\n  echo "usage: keep add TEXT… | list [WORD] | done NUMBER" >&2\n  exit 2\n}\n' >bd/tree/lib/usage.sh
edit bin/keep.sh 'usage() {
  echo '\''usage: keep add TEXT… | list [WORD] | done NUMBER'\'' >&2
  exit 2
}
' '. lib/usage.sh || exit
'
go
