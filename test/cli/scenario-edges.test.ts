/** Details of `factory scenario run`: the copy of the product, prerequisites of live, reruns. */
import { execFileSync } from 'node:child_process';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ScenarioReport } from '../../src/scenarios/result.ts';
import { cleanEnv, type Home, home } from '../support/cli.ts';
import { call } from '../support/verb.ts';

const modes = 'if [ "$SCENARIO_MODE" = selftest ]; then exit 0; fi\n';

async function reportOf(
  it: Home,
  env: Readonly<Record<string, string>> = {},
  place = 's',
  mode: 'selftest' | 'live' = 'live',
  jobs = 2,
): Promise<ScenarioReport> {
  const verb = ['scenario', mode === 'live' ? 'run' : mode, place];
  const { out } = await call(
    verb,
    { app: 'app', json: true, jobs },
    // Most of these scenarios check nothing of a product.
    { cwd: it.path, env: cleanEnv({ TMPDIR: it.path, FACTORY_FLOOR: 'false', ...env }) },
  );
  return JSON.parse(out);
}
const resultOf = async (it: Home, env?: Readonly<Record<string, string>>) =>
  (await reportOf(it, env)).results[0];

test('the copy of a product has no scenarios and no pipes, and the same links', async () => {
  await using it = await home({
    'app/a.txt': 'x',
    'app/scripts/scenarios/a_scenario.sh': `${modes}ls "$1/scripts"; readlink "$1/link" "$1/away"; [ -e "$1/pipe" ] && echo pipe; exit 0\n`,
  });
  await symlink('a.txt', join(it.path, 'app/link'));
  await symlink('/nowhere', join(it.path, 'app/away'));
  execFileSync('mkfifo', [join(it.path, 'app/pipe')]);
  const [found] = (await reportOf(it, {}, 'app/scripts/scenarios')).results;
  expect(found).toMatchObject({ outcome: 'pass', output: { stdout: 'a.txt\n/nowhere\n' } });
});

test('scenarios and their helpers may be links that lead out of their folder, and stay secret', async () => {
  await using it = await home({
    'common/a.sh': `${modes}. "$(dirname "$0")/lib.sh"; cat "$0" >&2; leans\n`,
    'common/lib.sh': 'leans() { echo "it leans"; false; }\n',
    'common/more/x': '',
    'app/x': '',
    's/x': '',
  });
  await symlink('../common/a.sh', join(it.path, 's/a_scenario.sh'));
  await symlink('../common/lib.sh', join(it.path, 's/lib.sh'));
  await symlink('../common/more', join(it.path, 's/more'));
  await symlink('nothing', join(it.path, 's/none'));
  const said = join(it.path, 'said.json');
  const found = await resultOf(it, { FACTORY_OUTPUT: said });
  expect(found).toMatchObject({ outcome: 'fail', output: { stdout: 'it leans\n' } });
  const told = await readFile(said, 'utf8');
  expect(told).toContain('it leans');
  expect(told + found?.output.stderr).not.toContain('SCENARIO_MODE');
});

test('of the variables of factory a scenario gets only the run marker, and none of git', async () => {
  await using it = await home({
    's/a_scenario.sh': `${modes}env | grep -E '^(FACTORY|GIT)_' | sort; exit 0\n`,
    'app/x': '',
  });
  const env = {
    FACTORY_OUTPUT: join(it.path, 'said.json'),
    FACTORY_NODE_DIR: '/x',
    FACTORY_RUN_MARKER: 'm',
    GIT_DIR: '/x',
  };
  const { stdout = '' } = (await resultOf(it, env))?.output ?? {};
  expect(stdout).toContain('FACTORY_RUN_MARKER=m\n');
  expect(stdout).not.toMatch(/FACTORY_OUTPUT|FACTORY_NODE_DIR|GIT_DIR/);
});

test('component checks that know the modes run their selftest first', async () => {
  await using it = await home({ 's/a_component_checks.sh': '[ "$SCENARIO_MODE" = live ]\n', 'app/x': '' });
  expect(await resultOf(it)).toMatchObject({ outcome: 'broken', evidence: { phase: 'selftest' } });
});

test.for([
  ['a variable that is empty', '# requires-env: A_KEY\n', 'A_KEY is not set'],
  ['a host that takes no connection', '# requires-network: 127.0.0.1:1\n', '127.0.0.1:1 cannot be reached'],
] as const)('without %s live does not start', async ([, needs, why]) => {
  await using it = await home({ 's/a_scenario.sh': `${needs}${modes}echo begun; exit 0\n`, 'app/x': '' });
  const env = { A_KEY: '', HTTPS_PROXY: '', https_proxy: '', ALL_PROXY: '', all_proxy: '' };
  expect(await resultOf(it, env)).toMatchObject({
    outcome: 'fail',
    failure_class: 'infra',
    evidence: { why: expect.stringContaining(why), rerun: null },
    output: { stdout: '' },
  });
});

test('a missing program of the product is named by its path in the product', async () => {
  await using it = await home({ 's/a_scenario.sh': `${modes}"$1/bin/none"\n`, 'app/x': '' });
  expect((await resultOf(it))?.evidence.why).toBe('the product has no program app/bin/none that can be run');
});

test.for([
  ['a failed check', `${modes}exit 1\n`, 'product', 'fail'],
  ['the product, by its own report', `${modes}echo failure_class=product >&2; exit 1\n`, 'product', 'fail'],
  ['a failed selftest', 'exit 1\n', 'scenario', 'broken'],
  ['the scenario, by its own report', `${modes}echo failure_class=scenario >&2; exit 1\n`, 'scenario', null],
  ['a text that does not parse', 'if\n', 'scenario', null],
  ['a program that cannot be run', `${modes}exit 126\n`, 'scenario', null],
  ['a program that is missing', `${modes}exit 127\n`, 'scenario', null],
  ['the world', `${modes}exit 86\n`, 'infra', null],
  ['the world, by its message', `${modes}echo "connection refused"; exit 1\n`, 'infra', null],
  ['a signal', `${modes}kill -SEGV $$\n`, 'scenario', null],
] as const)('%s is rerun or not', async ([, text, word, again]) => {
  await using it = await home({ 's/a_scenario.sh': text, 'app/x': '' });
  const found = await resultOf(it);
  expect([found?.failure_class, found?.evidence.rerun?.outcome ?? null]).toEqual([word, again]);
});

test.for([
  ['a helper in a subfolder', 'echo exit 0 >"$here/lib/h.sh"', 'broken'],
  ['where a link leads', 'ln -sfn elsewhere "$here/link"', 'broken'],
  [
    'a compiled file of an interpreter',
    'mkdir "$here/__pycache__"; echo y >"$here/__pycache__/h.pyc"',
    'broken',
  ],
  ['a module that it would load', 'n=json; echo y >"$here/$n.py"', 'broken'],
  ['a file that is new', 'echo y >"$here/new.txt"', 'pass'],
] as const)(
  'a scenario in whose folder %s changes while it runs has that outcome',
  async ([, act, outcome]) => {
    await using it = await home({
      's/a_scenario.sh': `${modes}here=$(dirname "$0"); ${act}\n`,
      's/lib/h.sh': 'exit 1\n',
      's/__pycache__/h.pyc': 'x\n',
      'app/x': '',
    });
    await symlink('lib', join(it.path, 's/link'));
    expect(await resultOf(it)).toMatchObject({ outcome });
  },
);

test.for([
  ['a folder of it', 'cd ../../judge-*/scenarios; mv lib l; mkdir lib', 'rm -r lib; mv l lib', 'lib'],
  [
    'all of it',
    'cd ../../judge-*; mv scenarios s; mkdir -p scenarios/lib; cd scenarios',
    'cd ..; rm -r scenarios; mv s scenarios',
    'scenarios',
  ],
  [
    'its whole temporary folder',
    'r=${1%/product/app}; s=$(echo "$r"/judge-*/scenarios); mv "$r" "$r-"; mkdir -p "$s/lib"; cd "$s"',
    'r=${PWD%/judge-*}; rm -r "$r"; mv "$r-" "$r"',
    'scenarios',
  ],
] as const)('a scenario that was replaced for a while is broken: %s', async ([, away, back, why]) => {
  await using it = await home({
    's/a_scenario.sh': `${modes}sh app.sh "$1"\nbash "$(dirname "$0")/lib/check.sh"\n`,
    's/lib/check.sh': 'exit 1\n',
    'app/app.sh': `${away}\ncat >lib/check.sh <<'E'\ncd "$(dirname "$0")/.."; ${back}; exit 0\nE\n`,
  });
  expect(await resultOf(it)).toMatchObject({
    outcome: 'broken',
    evidence: { exit_code: 0, why: expect.stringContaining(`changed while it ran: ${why}.`) },
  });
});

test('a scenario is broken whose copy the product of another one has rewritten before it ran', async () => {
  const selftest =
    'if [ "$SCENARIO_MODE" = selftest ] && mkdir "$MARK"; then : >"$SCENARIO_TMP/b"; until grep -q righ[t] "$0"; do :; done; fi';
  await using it = await home({
    's/a_scenario.sh': `${modes}sh "$1/app.sh" "$1"\n`,
    's/b_scenario.sh': `${selftest}\n[ "$SCENARIO_MODE" = selftest ]\n`,
    'app/app.sh':
      'cd "${1%/product/app}/.."; until t=$(ls */run/*/tmp/b); do :; done 2>/dev/null\ncd "${t%%/*}"/judge-*/scenarios; echo "exit 0 # right" >n; mv n b_scenario.sh\n',
  });
  const { results } = await reportOf(it, { MARK: join(it.path, 'mark') });
  expect(results).toMatchObject([
    { outcome: 'pass' },
    { outcome: 'broken', evidence: { exit_code: 0, why: expect.stringContaining('b_scenario.sh') } },
  ]);
});

test('a product that rewrites the source of the scenarios between two of them leaves the second one broken', async () => {
  await using it = await home({
    's/a_scenario.sh': `${modes}sh "$1/app.sh"\n`,
    's/b_scenario.sh': `${modes}exit 1\n`,
    's/c/x': 'x',
    'app/app.sh': 'for f in ../../../source-*/b_scenario.sh; do echo "exit 0" >"$f"; done\n',
  });
  const { results } = await reportOf(it, {}, 's', 'live', 1);
  expect(results).toMatchObject([
    { outcome: 'pass' },
    {
      outcome: 'broken',
      failure_class: 'scenario',
      evidence: { why: expect.stringContaining('files of the scenario were changed') },
    },
  ]);
  // The folder itself, which a product may know, no longer matters once it was copied.
  await writeFile(join(it.path, 'app/app.sh'), 'echo "exit 0" >"$OWN/b_scenario.sh"\n');
  expect((await reportOf(it, { OWN: join(it.path, 's') }, 's', 'live', 1)).results).toMatchObject([
    { outcome: 'pass' },
    { outcome: 'fail', failure_class: 'product' },
  ]);
});

test('whether a scenario of Python can be read is asked of Python’s own modules, not of the product’s', async () => {
  await using it = await home({
    's/a_scenario.py': 'import os, sys\nsys.exit(os.environ["SCENARIO_MODE"] != "selftest")\n',
    'app/ast.py': 'import glob\nfor f in glob.glob("../../judge-*/scenarios/*"): open(f, "w").close()\n',
  });
  expect(await resultOf(it)).toMatchObject({ outcome: 'fail', evidence: { phase: 'live', exit_code: 1 } });
});
