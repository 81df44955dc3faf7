/** Which lines of a scenario start the product otherwise than by APP_RUN. */
import { describe, expect, test } from 'vitest';
import { productStarts } from '../../src/scenarios/starts.ts';

const linesOf = (name: string, text: string) => productStarts(name, text).map(({ line }) => line);

describe('in a shell', () => {
  test.for([
    'node bin/x.js a',
    '"$1/bin/x" a',
    'app=$1\n"$app/bin/x" a',
    'app=${1:?}\nprogram=$(cd "$app" && pwd)/bin/x\n"$program" a',
    './bin/x a',
    'bin/x a',
    'app=$1; python3 "$app/x.py"',
    'python3 -m product',
    'app=$1\n. "$app/lib.sh"',
    'app=$1\nsource "$app"/lib.sh',
    'npm test',
    'cd "$1" && make check',
    'out=$(node bin/x.js a)',
    'if timeout 5 ./x a; then exit 1; fi',
    '( cd "$1"; PORT=1 ./server & )',
    'node src/x.js | grep y',
  ])('%s', (text) => {
    expect(linesOf('a.sh', `#!/bin/sh\n# x\n${text}\n`)).toHaveLength(1);
  });

  test.for([
    '"$APP_RUN" node bin/x.js a',
    'timeout 5 "$APP_RUN" bin/x a',
    'app=$1; out=$(PORT=1 "$APP_RUN" python3 "$app/x.py")',
    'run=$APP_RUN\n"$run" bin/x',
    'app=$1; [ -f "$app/bin/x" ] || exit 1',
    'cat bin/x; grep -q y ./README.md; ls "$1/sample"',
    'node -e "console.log(1)" bin/x',
    'here=$(dirname "$0"); . "$here/lib.sh"; python3 "$here/check.py"',
    'work=$(mktemp -d); node "$work/checker.js"; bash "$work/x.sh"',
    'make --version; npm --version',
    'python3 -m json.tool "$1/x.json"; python3 -m py_compile "$1/x.py"',
    'cat <<E\nnode bin/x.js\nE',
    '# node bin/x.js',
    "echo 'node bin/x.js'",
    '/usr/bin/env true; curl http://127.0.0.1/a/b',
  ])('not %s', (text) => {
    expect(productStarts('a.sh', `#!/bin/sh\n${text}\n`)).toEqual([]);
  });
});

describe('in Python', () => {
  test.for([
    'sys.path.insert(0, sys.argv[1])',
    'app = sys.argv[1]\nsys.path.append(os.path.join(app, "src"))',
    'app = Path(sys.argv[1])\nsubprocess.run([app / "bin/x"])',
    'subprocess.run(["node", "bin/x.js"])',
    'os.system("npm test")',
    'app = sys.argv[1]\nspec = importlib.util.spec_from_file_location("x", app + "/x.py")',
    'app = sys.argv[1]\nsubprocess.Popen(\n  ["python3", "-m", "x"],\n  cwd=app,\n)',
  ])('%s', (text) => {
    expect(linesOf('a.py', `import sys\n${text}\n`)).toHaveLength(1);
  });

  test.for([
    'subprocess.run([os.environ["APP_RUN"], "bin/x"], cwd=sys.argv[1])',
    'run = [os.environ["APP_RUN"]]\nsubprocess.run(run + ["node", "bin/x.js"])',
    'subprocess.run(["git", "--version"])',
    'sys.path.insert(0, os.path.dirname(__file__))',
    'app = sys.argv[1]\nprint(open(app + "/README.md").read())',
    'unittest.main(argv=["x"])',
  ])('not %s', (text) => {
    expect(productStarts('a.py', `import sys\n${text}\n`)).toEqual([]);
  });
});

describe('in JavaScript', () => {
  test.for([
    'const app = process.argv[2];\nconst x = require(app + "/x.js");',
    'const [, , app] = process.argv;\nconst { x } = await import(join(app, "x.mjs"));',
    'const app = process.argv[2];\nspawnSync("node", [join(app, "bin/x.js")]);',
    'execSync("./bin/x a");',
    'execFileSync("npm", ["test"]);',
  ])('%s', (text) => {
    expect(linesOf('a.mjs', `${text}\n`)).toHaveLength(1);
  });

  test.for([
    'spawnSync(process.env.APP_RUN, ["node", "bin/x.js"], { cwd: process.argv[2] });',
    'const run = process.env.APP_RUN;\nexecFileSync(run, ["bin/x"]);',
    'const lib = require("./lib.js");',
    'const app = process.argv[2];\nreadFileSync(join(app, "README.md"));',
    'if (/x/.exec("bin/x")) process.exit(1);',
  ])('not %s', (text) => {
    expect(productStarts('a.mjs', `${text}\n`)).toEqual([]);
  });
});
