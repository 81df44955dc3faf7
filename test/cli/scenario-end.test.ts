/** Scenarios in Python and JavaScript pass only if they reach their own end. */
import { execFileSync } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ScenarioReport } from '../../src/scenarios/result.ts';
import { cleanEnv, type Home, home } from '../support/cli.ts';
import { call } from '../support/verb.ts';

async function resultsOf(it: Home): Promise<ScenarioReport['results']> {
  const flags = { app: 'app', json: true, jobs: 2 };
  const { out } = await call(['scenario', 'run', 's'], flags, {
    cwd: it.path,
    env: cleanEnv({ TMPDIR: it.path, FACTORY_FLOOR: 'false' }),
  });
  return (JSON.parse(out) as ScenarioReport).results;
}

const python =
  'import os, sys\nif os.environ["SCENARIO_MODE"] == "selftest": sys.exit(0)\nsys.path.insert(0, sys.argv[1])\n';
const commonJs = "if (process.env.SCENARIO_MODE === 'selftest') process.exit(0);\n";
const inModule =
  "import { exit } from 'node:process';\nif (process.env.SCENARIO_MODE === 'selftest') exit(0);\n";
const early = /the product ended the scenario before its own end/;

test.for([
  ['a.py', `${python}import ends\nsys.exit(1)\n`, 'fail', early],
  ['b.py', `${python}import ends_late\nends_late.run()\nassert False\n`, 'fail', early],
  ['c.py', `${python}import honest\nassert honest.add(1, 2) == 3\n`, 'pass', /exit code 0/],
  ['d.py', `${python}import honest\nsys.exit(0 if honest.add(1, 2) == 3 else 1)\n`, 'pass', /exit code 0/],
  [
    'e.py',
    `${python}import unittest, honest\nclass T(unittest.TestCase):\n  def test_it(self): self.assertEqual(honest.add(1, 2), 3)\nif __name__ == "__main__": unittest.main(argv=["x"])\n`,
    'pass',
    /exit code 0/,
  ],
  ['f.py', `${python}import honest\nsys.exit(0 if honest.add(1, 2) == 4 else 1)\n`, 'fail', /exit code 1/],
  ['g.py', `${python}os._exit(0)\n`, 'broken', /os\._exit/],
  ['h.js', `${commonJs}require(process.argv[2] + '/ends.js');\nprocess.exit(1);\n`, 'fail', early],
  [
    'i.js',
    `${commonJs}require(process.argv[2] + '/ends-late.js');\nsetTimeout(() => process.exit(1), 1e6);\n`,
    'fail',
    early,
  ],
  [
    'j.js',
    `${commonJs}if (require(process.argv[2] + '/honest.js').add(1, 2) !== 3) process.exit(1);\n`,
    'pass',
    /exit code 0/,
  ],
  [
    'k.js',
    `${commonJs}require(process.argv[2] + '/honest.js').later(() => process.exit(0));\n`,
    'pass',
    /exit code 0/,
  ],
  [
    'l.mjs',
    `${inModule}const { add } = await import(process.argv[2] + '/honest.js');\nexit(add(1, 2) === 3 ? 0 : 1);\n`,
    'pass',
    /exit code 0/,
  ],
  ['m.mjs', `${inModule}await import(process.argv[2] + '/ends.mjs');\nexit(1);\n`, 'fail', early],
] as const)(
  'whether %s passes is decided by its own end',
  { timeout: 60_000 },
  async ([name, text, outcome, why]) => {
    const script = name.replace('.', '_scenario.');
    await using it = await home({
      [`s/${script}`]: text,
      'app/ends.py': 'import sys\nsys.exit(0)\n',
      'app/ends_late.py': 'import sys\ndef run(): sys.exit(0)\n',
      'app/honest.py': 'def add(a, b): return a + b\n',
      'app/ends.js': 'process.exit(0);\n',
      'app/ends-late.js': 'setTimeout(process.exit, 0);\n',
      'app/ends.mjs': "import { exit } from 'node:process';\nexit(0);\n",
      'app/honest.js': 'exports.add = (a, b) => a + b;\nexports.later = (done) => setTimeout(done, 1);\n',
    });
    const [result] = await resultsOf(it);
    expect(result).toMatchObject({ outcome, evidence: { why: expect.stringMatching(why) } });
  },
);

test('a script with a #! line is watched too, and prints as without the watch', async () => {
  const fails = `${python.replace('sys.path', '# sys.path')}\n\ndef check(x):\n  raise ValueError(x)\n\ntry:\n  check(1)\nexcept ValueError:\n  check(__file__ == sys.argv[0] and sys.path[0] == os.path.dirname(__file__) and __name__)\n`;
  await using it = await home({
    's/a_scenario.py': `#!/usr/bin/env -S python3 -u\n${fails}`,
    's/b_scenario.js': `#!/usr/bin/env node\n${commonJs}require(process.argv[2] + '/ends.js');\n`,
    'app/ends.js': 'process.exit(0);\n',
  });
  for (const name of ['a_scenario.py', 'b_scenario.js']) await chmod(join(it.path, 's', name), 0o755);
  const [first, second] = await resultsOf(it);
  let plain = '';
  try {
    execFileSync(join(it.path, 's/a_scenario.py'), ['app'], {
      cwd: it.path,
      env: { ...process.env, SCENARIO_MODE: 'live' },
      stdio: 'pipe',
    });
  } catch (error) {
    plain = String((error as { stderr: Buffer }).stderr);
  }
  expect(first?.output.stderr).toBe(plain.replaceAll(`${it.path}/s/`, 'scenarios/'));
  expect(plain).toContain('ValueError: __main__');
  expect(second).toMatchObject({ outcome: 'fail', evidence: { why: expect.stringMatching(early) } });
});

const changed = /the product changed the exit code of the scenario from 1 to 0/;
const replaced = /the product replaced the functions by which the scenario sets its exit code/;
const wrong = 'const { add } = require(process.argv[2] + "/PRODUCT.js");\n';

const sources = 'set -eu\nif [ "$SCENARIO_MODE" = selftest ]; then exit 0; fi\n. "$1/PRODUCT.sh"\n';
const asserts = 'if [ "$(add 1 2)" != 3 ]; then echo "FAIL: a sum"; exit 1; fi\n';
const right = 'add() { echo $(($1 + $2)); }\n';
const sourced: readonly (readonly [string, string, string, string, RegExp])[] = [
  ['k.sh', `${sources}${asserts}`, 'exit 0\n', 'fail', early],
  ['l.sh', `${sources}${asserts}`, "trap 'exit 0' EXIT\nadd() { echo 0; }\n", 'fail', changed],
  ['m.sh', `${sources}run\n${asserts}`, `${right}run() { exit 0; }\n`, 'fail', early],
  [
    'n.sh',
    `work=$(mktemp -d); code=7\ntrap 'code=$?; rm -rf "$work"; exit $code' EXIT\n${sources}${asserts}[ "$0" = "\${BASH_SOURCE[0]}" ] && [ $# = 1 ] && cd "$(dirname "$0")" && . ./lib.sh && finish\n`,
    right,
    'pass',
    /exit code 0/,
  ],
  ['o.sh', `${sources}${asserts}(exit 3) || true\n`, right, 'pass', /exit code 0/],
];

test('an imported product does not turn the failure of its scenario into a success', {
  timeout: 120_000,
}, async () => {
  const ends: (readonly [string, string, string, string, RegExp])[] = [
    [
      'a.py',
      `${python}import PRODUCT\nif PRODUCT.add(1, 2) != 3: sys.exit(1)\n`,
      'import atexit, os\natexit.register(lambda: os._exit(0))\ndef add(a, b): return 0\n',
      'fail',
      changed,
    ],
    [
      'b.py',
      `${python}import PRODUCT\nif PRODUCT.add(1, 2) != 3: sys.exit(1)\n`,
      'import os, sys\nsys.exit = lambda c=0: os.kill(os.getpid(), 0)\ndef add(a, b): return 0\n',
      'fail',
      replaced,
    ],
    [
      'c.py',
      `${python}import PRODUCT\ndef caught(code=0): pass\nsys.exit = caught\nPRODUCT.run()\n`,
      'import sys\ndef run(): sys.exit(3)\n',
      'pass',
      /exit code 0/,
    ],
    [
      'd.js',
      `${commonJs}${wrong}if (add(1, 2) !== 3) process.exit(1);\n`,
      "process.on('exit', () => { process.exitCode = 0; });\nexports.add = () => 0;\n",
      'fail',
      changed,
    ],
    [
      'e.js',
      `${commonJs}${wrong}if (add(1, 2) !== 3) process.exitCode = 1;\n`,
      "process.prependListener('beforeExit', () => { process.exitCode = 0; });\nexports.add = () => 0;\n",
      'fail',
      changed,
    ],
    [
      'f.js',
      `${commonJs}${wrong}if (add(1, 2) !== 3) process.exit(1);\n`,
      'process.exit = () => {};\nexports.add = () => 0;\n',
      'fail',
      replaced,
    ],
    [
      'g.js',
      `${commonJs}const { run } = require(process.argv[2] + '/PRODUCT.js');\nlet code;\nprocess.exit = (c) => { code = c; };\nrun();\nif (code !== 3) throw new Error('no exit code');\n`,
      'exports.run = () => process.exit(3);\n',
      'pass',
      /exit code 0/,
    ],
    [
      'h.mjs',
      `${inModule}import assert from 'node:assert';\nconst { add } = await import(process.argv[2] + '/PRODUCT.js');\nassert.equal(add(1, 2), 3);\n`,
      "process.on('uncaughtException', () => {});\nexports.add = () => 0;\n",
      'fail',
      changed,
    ],
    [
      'i.mjs',
      `${inModule}import assert from 'node:assert';\nconst { add } = await import(process.argv[2] + '/PRODUCT.js');\n(async () => assert.equal(add(1, 2), 3))();\n`,
      "process.on('unhandledRejection', () => {});\nexports.add = () => 0;\n",
      'fail',
      changed,
    ],
    [
      'j.mjs',
      `${inModule}import assert from 'node:assert';\nconst { add } = await import(process.argv[2] + '/PRODUCT.js');\nassert.equal(add(1, 2), 3);\n`,
      "process.on('unhandledRejection', () => {});\nPromise.reject(new Error('its own'));\nexports.add = (a, b) => a + b;\n",
      'pass',
      /exit code 0/,
    ],
  ];
  ends.push(...sourced);
  const files = ends.map(([name, text, product]) => {
    const [word = '', kind = ''] = name.split('.');
    return {
      [`s/${word}_scenario.${kind}`]: text.replaceAll('PRODUCT', `product_${word}`),
      [`app/product_${word}.${kind.replace('mjs', 'js')}`]: product,
    };
  });
  await using it = await home(Object.assign({ 's/lib.sh': 'finish() { exit 0; }\n' }, ...files));
  const results = await resultsOf(it);
  expect(results.map((one) => [one.scenario[0], one.outcome, one.evidence.why])).toEqual(
    ends.map(([name, , , outcome, why]) => [name[0], outcome, expect.stringMatching(why)]),
  );
});
