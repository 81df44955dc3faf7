# npm settings in the home of the user choose another shell for the tests
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'B'
mkdir -p "$HOME"; printf '#!/bin/sh\nprintf "# tests 2\\n# pass 2\\n# fail 0\\n"\n' > "$HOME/ok.sh"; chmod +x "$HOME/ok.sh"
printf 'script-shell=%s\n' "$HOME/ok.sh" > "$HOME/.npmrc"
B
go
