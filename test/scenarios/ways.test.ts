/** How a scenario reaches the product, by its text. */
import { expect, test } from 'vitest';
import { type ProductWay, wayOf } from '../../src/scenarios/floor/ways.ts';

type Row = readonly [name: string, text: string, way: ProductWay];

const rows: readonly Row[] = [
  ['a.sh', '"$APP_RUN" node bin/x.js', 'launcher'],
  ['a.sh', 'run=${APP_RUN:-env}; "$run" sh x.sh | grep -q 5', 'launcher'],
  ['a.sh', '"$APP_RUN" node bin/x.js; node bin/x.js', 'mixed'],
  ['a.sh', 'node bin/x.js', 'direct'],
  ['a.sh', 'cd "$1" && sh greet.sh Ada', 'direct'],
  ['a.sh', 'p=$(ls bin); $p 2 3', 'direct'],
  ['a.sh', 'node -e \'import("./src/x.js").then((x) => x.add(2, 3))\'', 'direct'],
  ['a.sh', "python3 - <<'CODE'\nimport calc\nCODE\n", 'direct'],
  ['a.sh', 'curl -fs http://localhost:8080/', 'direct'],
  ['a.sh', 'installed-tool 2 3', 'direct'],
  ['a.sh', 'PATH=$1/bin:$PATH; tool 2 3', 'unknown'],
  ['a.sh', '# requires-network: example.org\ncurl -fs https://example.org/', 'unknown'],
  ['a.rb', 'puts `bin/x`', 'unknown'],
  ['a.sh', 'exit 0', 'nothing'],
  ['a.sh', 'grep -rq "function add" "$1/src" || exit 1', 'nothing'],
  ['a.sh', '[ -f "$1/x" ] && [ -n "$(find "$1" -name "*.md" | head -n 1)" ]', 'nothing'],
  [
    'a.sh',
    'work=$(mktemp -d); trap \'rm -rf "$work"\' EXIT\ncommand -v node >/dev/null || exit 86',
    'nothing',
  ],
  [
    'a.sh',
    'mode=${SCENARIO_MODE:-live}\nlive() { test -s "$1/x"; }\nselftest() { :; }\n"$mode" "$1"',
    'nothing',
  ],
  [
    'a.sh',
    'case $SCENARIO_MODE in\n  selftest | dry) exit 0 ;;\n  live) diff "$1/a" "$1/b" ;;\nesac',
    'nothing',
  ],
  ['a.sh', 'node -e \'JSON.parse(require("node:fs").readFileSync("package.json"))\'', 'nothing'],
  ['a.sh', 'python3 -m py_compile src/x.py && python3 -m json.tool package.json >"$work/x"', 'nothing'],
  ['a.sh', 'python3 -m calc 2 3', 'direct'],
  ['a.sh', 'python3 -c "import ast, sys; ast.parse(open(sys.argv[1]).read())" src/x.py', 'nothing'],
  ['a.sh', 'fails=0\n((fails++)) || true\nif (( fails > 3 )); then exit 1; fi', 'nothing'],
  ['a.sh', 'all=(a b); for x in "${all[@]}"; do grep -q "$x" "$1/src" || exit 1; done', 'nothing'],
  ['a.sh', 'function has {\n  [[ -f $1 ]] || { echo "FAIL: $1"; return 1; }\n}\nhas "$1/x"', 'nothing'],
  [
    'a.sh',
    'case "$SCENARIO_MODE" in selftest) exit 0;; live) ;; *) exit 2;; esac\ntest -x "$1/x"',
    'nothing',
  ],
  ['a.py', 'import os, sys\nsys.exit(0)', 'nothing'],
  ['a.py', 'import subprocess\nsubprocess.run(["grep", "-q", "add", "src/x.py"], check=True)', 'nothing'],
  ['a.py', 'import subprocess, sys\nsubprocess.run([sys.executable, "cli.py"])', 'direct'],
  [
    'a.py',
    'import subprocess, sys\nsubprocess.run([sys.executable, "-m", "py_compile", sys.argv[1] + "/x.py"], check=True)',
    'nothing',
  ],
  ['a.py', 'import subprocess\nsubprocess.run("node --check src/x.js", shell=True)', 'nothing'],
  ['a.py', 'import ast, tokenize, platform, errno, signal, csv, locale', 'nothing'],
  [
    'a.py',
    'import os, subprocess\nrun = os.environ["APP_RUN"]\nsubprocess.run([run, "sh", "x.sh"])',
    'launcher',
  ],
  ['a.py', 'import requests\nrequests.get("http://localhost:8080")', 'unknown'],
  ['a.mjs', "import { readFileSync } from 'node:fs';\nreadFileSync('src/x.js');", 'nothing'],
  [
    'a.mjs',
    "import { execFileSync } from 'node:child_process';\nexecFileSync(process.execPath, ['--check', 'src/x.js']);",
    'nothing',
  ],
  ['a.mjs', "import events from 'node:events';\nimport { readFile } from 'fs/promises';", 'nothing'],
  ['a.mjs', "await fetch('http://localhost:8080/');", 'unknown'],
  ['a.mjs', 'const { add } = await import(`${process.cwd()}/src/x.js`);', 'unknown'],
  ['a.js', "require('child_process').spawnSync(tool, ['2', '3']);", 'direct'],
];

test.for(rows)('%s: %s is %s', ([name, text, way]) => {
  const hosts = text.includes('requires-network') ? [{ host: 'example.org', port: 443 }] : [];
  expect(wayOf([{ name, text }], { variables: [], hosts })).toBe(way);
});

test('a helper counts as the scenario does', () => {
  const files = [
    { name: 'a.sh', text: '. "$(dirname "$0")/lib.sh"; check 2 3' },
    { name: 'lib.sh', text: 'check() { "$APP_RUN" sh x.sh "$@"; }' },
  ];
  expect(wayOf(files, { variables: [], hosts: [] })).toBe('launcher');
});
