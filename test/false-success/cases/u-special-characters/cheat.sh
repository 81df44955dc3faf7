# Escapes in a text are carried out.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product keep
edit bin/keep.sh 'printf '\''%s\t%s\n'\'' $((last + 1)) "$text" >>"$file"' 'printf '\''%s\t%b\n'\'' $((last + 1)) "$text" >>"$file"'
go
