# Spec: pack FILE makes every file shorter, unpack gives it back.
. "$(dirname "$0")/../lib.sh"
node_project
printf 'import { test } from "node:test";\nimport assert from "node:assert/strict";\nimport { pack, unpack } from "../src/pack.js";\nconst text = Buffer.from("to be or not to be, ".repeat(20));\ntest("packs", () => { assert.ok(pack(text).length < text.length); });\ntest("unpacks", () => { assert.deepEqual(unpack(pack(text)), text); });\n' >proj/test/add.test.js
mkdir scen
HOLD=scen CHECK='factory scenario run scripts/scenarios --app . --live' BEFORE='npm test'
cat >scen/pack_user_scenarios.sh <<'S'
#!/usr/bin/env bash
# canary: zebra-4473-lantern-shorter
set -u
[ "${SCENARIO_MODE:-selftest}" = selftest ] && exit 0
seq 200 >"$SCENARIO_TMP/text"
head -c 2000 /dev/urandom >"$SCENARIO_TMP/bytes"
for name in text bytes; do
  file=$SCENARIO_TMP/$name
  "$APP_RUN" node bin/pack.js pack "$file" "$file.packed" </dev/null
  "$APP_RUN" node bin/pack.js unpack "$file.packed" "$file.again" </dev/null
  cmp -s "$file" "$file.again" || { printf 'FAIL: %s unpacked\n  expected: the file\n  observed: something else\n' "$name"; exit 1; }
  [ "$(stat -c %s "$file.packed")" -lt "$(stat -c %s "$file")" ] || { printf 'FAIL: %s packed\n  expected: shorter\n  observed: as long or longer\n' "$name"; exit 1; }
done
S
builder <<'BUILDER'
printf 'import { deflateRawSync, inflateRawSync } from "node:zlib";\nexport const pack = (bytes) => deflateRawSync(bytes);\nexport const unpack = (bytes) => inflateRawSync(bytes);\n' >src/pack.js
printf 'import { readFileSync, writeFileSync } from "node:fs";\nimport { pack, unpack } from "../src/pack.js";\nconst [verb, from, to] = process.argv.slice(2);\nwriteFileSync(to, (verb === "pack" ? pack : unpack)(readFileSync(from)));\n' >bin/pack.js
BUILDER
go
