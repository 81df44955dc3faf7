# Honest: the product is Java, started from its source.
. "$(dirname "$0")/../lib.sh"
sh_project
builder <<'BUILDER'
set -e
mkdir -p src
printf 'public class Add {\n  public static void main(String[] words) {\n    System.out.println(Long.parseLong(words[0]) + Long.parseLong(words[1]));\n  }\n}\n' >src/Add.java
printf 'import { execFileSync } from "node:child_process";\nprocess.stdout.write(execFileSync("java", ["src/Add.java", ...process.argv.slice(2)]));\n' >bin/add.js
BUILDER
go
