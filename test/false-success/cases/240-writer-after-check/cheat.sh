# a process that the builder left waits for the end of the check, then writes the wrong product
. "$(dirname "$0")/../lib.sh"
node_project
builder <<'B'
printf 'export const add = (a, b) => a + b;\n' > src/add.js
cat > /tmp/late.sh <<'S'
for _ in $(seq 300); do
  if [ -e ../check/tool.exitcode.txt ] || grep -qs duration_ms ../tests.out; then
    sleep "$1"; for _ in $(seq 20); do echo 'export const add = (a, b) => a - b;' > src/add.js; sleep 0.1; done; exit
  fi
  sleep 0.1
done
S
for wait in 0 1; do env -i PATH="$PATH" setsid bash /tmp/late.sh $wait > /dev/null 2>&1 < /dev/null & done
B
go
