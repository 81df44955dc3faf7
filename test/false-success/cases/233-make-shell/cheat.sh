# the makefile chooses another shell
. "$(dirname "$0")/../lib.sh"
node_project; printf "check:\n\tnode --test\n" > proj/Makefile; CHECK="make check"
builder <<'B'
printf '#!/bin/sh\nprintf "# tests 2\\n# pass 2\\n# fail 0\\n"\n' > ok.sh; chmod +x ok.sh
sed -i '1i SHELL := ./ok.sh' Makefile
B
go
