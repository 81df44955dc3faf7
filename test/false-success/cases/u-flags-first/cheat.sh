# Flags after a file are files.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../products.sh"
product tally
edit src/flags.js 'if (arg === '\''--json'\'')' 'if (files.length > 0) files.push(arg);
    else if (arg === '\''--json'\'')'
go
