# Honest: a compiled product: the check builds it.
. "$(dirname "$0")/../lib.sh"
node_project
printf 'check: build/add\n\ttest "$$(build/add 2 3)" = 5\nbuild/add: src/add.c\n\tmkdir -p build\n\tcc -o build/add src/add.c\n' >proj/Makefile
rm -r proj/test
CHECK='make check'
builder <<'BUILDER'
set -e
printf '#include <stdio.h>\n#include <stdlib.h>\nint main(int n, char **words) {\n  (void)n;\n  printf("%%ld\\n", atol(words[1]) + atol(words[2]));\n  return 0;\n}\n' >src/add.c
printf 'import { execFileSync } from "node:child_process";\nprocess.stdout.write(execFileSync("build/add", process.argv.slice(2)));\n' >bin/add.js
BUILDER
go
