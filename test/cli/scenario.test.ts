/** `factory scenario …`: scenarios of any language, flakes, repeats, the report to the engine, Ctrl-C. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ScenarioReport } from '../../src/scenarios/result.ts';
import { cleanEnv, type Home, home } from '../support/cli.ts';
import { onDisk } from '../support/temporary.ts';
import { call, type Flags, type Told } from '../support/verb.ts';

onDisk();

const modes = 'if [ "$SCENARIO_MODE" = selftest ]; then exit 0; fi\n';

const called = (
  it: Home,
  verb: readonly string[],
  flags: Flags = {},
  env: Readonly<Record<string, string>> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<Told> =>
  call(['scenario', ...verb], flags, {
    cwd: it.path,
    // Most of these scenarios check nothing of a product.
    env: cleanEnv({ TMPDIR: it.path, FACTORY_FLOOR: 'false', ...env }),
    signal: () => signal,
  });

const run = (
  it: Home,
  flags: Flags & { readonly place?: string; readonly mode?: 'selftest' | 'live' } = {},
  ...more: [env?: Readonly<Record<string, string>>, signal?: AbortSignal]
): Promise<Told> => {
  const { place = 's', mode = 'live', ...given } = flags;
  return called(it, [mode === 'live' ? 'run' : mode, place], { app: 'app', ...given }, ...more);
};
const reportOf = (told: Told): ScenarioReport => JSON.parse(told.out);

describe('scenarios of any language', () => {
  test('are run each in its own copy of the product, without git, runs and the scenarios', async () => {
    const look =
      'echo x >>"$1/mark"; [ "$(wc -l <"$1/mark")" -eq 1 ] || exit 9\nls -A "$1" | tr "\\n" " "; pwd; echo >"$SCENARIO_TMP/x"\n';
    await using it = await home({
      'app/bin': 'x',
      'app/.git/config': '',
      'app/.factoryignore': 'bin',
      'app/.factory/runs/r/x': '',
      'app/scripts/scenarios/a_scenario.sh': `${modes}. "$(dirname "$0")/lib.sh"\n`,
      'app/scripts/scenarios/lib.sh': look,
      'app/scripts/scenarios/b_scenario.py':
        'import os, sys\nif os.environ["SCENARIO_MODE"] == "live": sys.exit(0 if open("bin").read() == "x" else 1)\n',
      'app/scripts/scenarios/c_scenario.js':
        'process.exit(process.env.FACTORY_OUTPUT === undefined ? 0 : 1);\n',
    });
    const told = await run(it, { place: 'app/scripts/scenarios', json: true }, { FACTORY_NODE_DIR: '/x' });
    expect(reportOf(told).results.map((one) => [one.scenario, one.outcome])).toEqual([
      ['a_scenario.sh', 'pass'],
      ['b_scenario.py', 'pass'],
      ['c_scenario.js', 'pass'],
    ]);
    expect(told.code).toBe(0);
    const [first] = reportOf(told).results;
    expect(first?.output.stdout).toBe('.factoryignore bin mark scripts app\n');
    // No files are left next to the product, nor in it.
    expect(await it.list('.')).toEqual(['app']);
    expect(await it.list('app')).toEqual(['.factory', '.factoryignore', '.git', 'bin', 'scripts']);
  });

  test.for([
    ['a_scenario.py', 'def (:\n', 'syntax'],
    ['a_scenario.mjs', 'const = 1;\n', 'syntax'],
  ] as const)('%s that does not parse is broken before it is run', async ([name, text, phase]) => {
    await using it = await home({ [`s/${name}`]: text, 'app/x': '' });
    const told = await run(it, { json: true });
    expect(reportOf(told).results).toMatchObject([
      { outcome: 'broken', failure_class: 'scenario', evidence: { phase } },
    ]);
    expect([told.code, told.err]).toEqual([1, 'failure_class=scenario\n']);
  });
});

describe('a failure that does not recur in a clean copy', () => {
  const flaky = `${modes}[ -e "$MARK" ] && exit 0; : >"$MARK"; echo once; exit 1\n`;

  test('is a flake of the scenario, and both runs are reported', async () => {
    await using it = await home({ 's/a_scenario.sh': flaky, 'app/x': '' });
    const told = await run(it, { json: true }, { MARK: join(it.path, 'mark') });
    expect(reportOf(told).results).toMatchObject([
      {
        outcome: 'flaky',
        failure_class: 'scenario',
        evidence: { exit_code: 1, rerun: { outcome: 'pass', exit_code: 0 } },
      },
    ]);
    expect([told.code, told.err]).toEqual([1, 'failure_class=scenario\n']);
  });

  test('of several runs each is counted', async () => {
    await using it = await home({ 's/a_scenario.sh': flaky, 's/b_scenario.sh': modes, 'app/x': '' });
    const told = await run(it, { repeat: 4, jobs: 1 }, { MARK: join(it.path, 'mark') });
    expect(told.out).toMatch(
      /~ a_scenario\.sh +live +flaky .* 3 of 4 .*\n[\s\S]*✓ b_scenario\.sh .* 4 of 4\n/,
    );
  });
});

describe('a product that writes into the copy of its scenario', () => {
  const wanted = `${modes}out=$(sh app.sh); ok=$(cat "\${0%/*}/wanted.txt"); [ "$out" = "$ok" ]\n`;
  const meddling = (what: string) =>
    `for f in "$PWD"/../../judge-*/scenarios/*; do ${what}; done; echo mine\n`;
  test.for([
    ['changes the expected text', '', meddling('echo mine > "$f"'), 'broken'],
    [
      'restores all of it',
      '',
      meddling('cp -p "$f" x; echo mine > "$f"; cat x > "$f"; touch -r x "$f"'),
      'broken',
    ],
    ['and changes its times', '# chmod +x\n', meddling('echo mine > "$f"; touch -d @9 "$f"'), 'broken'],
    ['but only its mode', '# chmod +x\n', meddling('chmod +x "$f"').replace('mine', 'right'), 'pass'],
    [
      'but only its number of hard links',
      'ln "${0%/*}/wanted.txt" "$SCENARIO_TMP"\n',
      'echo right\n',
      'pass',
    ],
    [
      'but only its number of hard links, by a clone',
      'cp -al "${0%/*}" "$SCENARIO_TMP/all"\n',
      'echo right\n',
      'pass',
    ],
    [
      'or only next to it',
      '',
      'echo x > "$PWD/../new"; for f in "$PWD"/../../judge-*/scenarios; do echo x > "$f/new"; done; echo right\n',
      'pass',
    ],
  ] as const)('%s', async ([, text, app, outcome]) => {
    await using it = await home({
      's/a_scenario.sh': `${wanted}${text}exit 0\n`,
      's/wanted.txt': 'right\n',
      'app/app.sh': app,
    });
    const [result] = reportOf(await run(it, { json: true })).results;
    expect(result).toMatchObject({ outcome, failure_class: outcome === 'pass' ? null : 'scenario' });
    if (outcome === 'broken') expect(result?.evidence.why).toContain('a_scenario.sh, wanted.txt');
  });
});

describe('what decides the exit code', () => {
  test.for([
    [
      'nothing but infrastructure',
      { 'a_scenario.sh': `${modes}exit 86\n`, 'b_scenario.sh': modes },
      86,
      'infra',
    ],
    [
      'a broken scenario before infrastructure',
      { 'a_scenario.sh': `${modes}exit 86\n`, 'b_scenario.sh': 'exit 1\n' },
      1,
      'scenario',
    ],
    [
      'a product before all',
      { 'a_scenario.sh': `${modes}exit 1\n`, 'b_scenario.sh': 'exit 1\n' },
      1,
      'product',
    ],
  ] as const)('%s', async ([, files, code, word]) => {
    await using it = await home({
      ...Object.fromEntries(Object.entries(files).map(([name, text]) => [`s/${name}`, text])),
      'app/x': '',
    });
    const told = await run(it);
    expect([told.code, told.err]).toEqual([code, `failure_class=${word}\n`]);
  });
});

test('selftest leaves the product alone, and so does REQUIRE_LIVE=0 unless --live is given', async () => {
  await using it = await home({
    's/a_scenario.sh': `${modes}exit 1\n`,
    's/b_component_checks.sh': 'exit 1\n',
    'app/x': '',
  });
  const outcomes = async (told: Promise<Told>) => reportOf(await told).results.map((one) => one.outcome);
  expect(await outcomes(run(it, { mode: 'selftest', json: true }))).toEqual(['pass', 'skipped']);
  const skipped = reportOf(await run(it, { json: true }, { REQUIRE_LIVE: '0' }));
  expect(skipped.results.map((one) => one.outcome)).toEqual(['skipped', 'skipped']);
  expect(skipped).toMatchObject({ status: 'none', exit_code: 0 });
  expect(await outcomes(run(it, { json: true, live: true }, { REQUIRE_LIVE: '0' }))).toEqual([
    'fail',
    'fail',
  ]);
});

describe('as a node of a pipeline', () => {
  test('expected and observed values are reported, and no line of the scenario', async () => {
    const secret = 'answer=$(cat "$1/answer") # the hidden line';
    await using it = await home({
      's/a_scenario.sh': `${modes}set -x\n${secret}\nset +x\nprintf 'FAIL: the answer\\n  expected: 42\\n  observed: %s\\n' "$answer"\nexit 1\n`,
      'app/answer': '41',
    });
    const output = join(it.path, 'output.json');
    const told = await run(it, {}, { FACTORY_OUTPUT: output });
    expect(told.code).toBe(1);
    const said = await readFile(output, 'utf8');
    expect(JSON.parse(said)).toMatchObject({
      outcome: 'fail',
      failure_class: 'product',
      context_updates: {
        'judge.status': 'fail',
        'judge.failures': [
          { scenario: 'a_scenario.sh', said: 'FAIL: the answer\n  expected: 42\n  observed: 41' },
        ],
      },
    });
    expect(`${said}${told.out}${told.err}`).not.toContain('the hidden line');
  });

  test('a folder without scenarios is an error, except with --if-any', async () => {
    await using it = await home({ 's/README.md': '', 'app/x': '' });
    const wrong = await run(it);
    expect(wrong.code).toBe(2);
    expect(wrong.err).toMatch(/there are no scenarios in s[\s\S]*fix: name a folder/);
    const output = join(it.path, 'output.json');
    const told = await run(it, { ifAny: true, place: 'nowhere' }, { FACTORY_OUTPUT: output });
    expect(told).toMatchObject({ code: 0, out: 'there is no folder nowhere: nothing judged the product\n' });
    expect(await it.json('output.json')).toMatchObject({ outcome: 'success', preferred_next_label: 'none' });
  });
});

test.for([
  ['a product that is not there', { app: 'nowhere' }, {}, /there is no product in nowhere/],
  ['a product that is a file', { app: 'app/x' }, {}, /app\/x is no folder/],
  ['a limit that is no time', { timeout: 'soon' }, {}, /--timeout soon is no time/],
  [
    'a limit of the environment that is no time',
    {},
    { SCENARIO_TIMEOUT: '0' },
    /SCENARIO_TIMEOUT=0 is no time/,
  ],
] as const)('%s is refused with a fix', async ([, flags, env, words]) => {
  await using it = await home({ 's/a_scenario.sh': modes, 'app/x': '' });
  const told = await run(it, flags, env);
  expect(told.code).toBe(2);
  expect(told.err).toMatch(words);
  expect(told.err).toContain('fix:');
});

test('Ctrl-C ends every scenario and removes their files', async () => {
  const wait = `${modes}: >"$BEGUN.$$"\nsleep 603 & wait\n`;
  const names = ['a', 'b', 'c', 'd'].map((name) => [`s/${name}_scenario.sh`, wait]);
  await using it = await home({ ...Object.fromEntries(names), 'app/x': '' });
  const controller = new AbortController();
  const told = run(it, { jobs: 2 }, { BEGUN: join(it.path, 'begun') }, controller.signal);
  await expect
    .poll(async () => (await it.list('.')).filter((name) => name.startsWith('begun')).length, {
      timeout: 30_000,
    })
    .toBe(2);
  controller.abort();
  expect(await told).toMatchObject({ code: 130, err: 'interrupted: every scenario was ended\n' });
  const left = await it.list('.');
  expect(left.filter((name) => name.startsWith('scenario-'))).toEqual([]);
  // The waiting ones never started.
  expect(left.filter((name) => name.startsWith('begun'))).toHaveLength(2);
});

test('lint prints file, line and problem, for any language', async () => {
  await using it = await home({
    's/a_user_scenarios.sh': 'exit 0\n',
    's/b_scenario.py': 'x = 1\ndef (:\n',
    's/c_scenario.mjs': 'const a = 1;\nconst = 2;\n',
    'none/x.txt': '',
  });
  const linted = await called(it, ['lint', 's']);
  expect(linted.code).toBe(1);
  expect(linted.out.split('\n').map((line) => line.replace(/: .*/, ''))).toEqual([
    's/a_user_scenarios.sh:1',
    's/b_scenario.py:2',
    's/c_scenario.mjs:2',
    '',
  ]);
  expect((await called(it, ['lint', 'none'])).code).toBe(1);
  expect((await called(it, ['lint', 'nowhere'])).code).toBe(2);
});

test('lint warns of a product that is started without APP_RUN, which isolation=required refuses', async () => {
  const start = 'm=$SCENARIO_MODE\nnode bin/x.js\n';
  await using it = await home({ 's/a_user_scenarios.sh': start, 'app/x': '' });
  const linted = await called(it, ['lint', 's']);
  expect(linted.code).toBe(0);
  expect(linted.out).toMatch(/^s\/a_user_scenarios\.sh:2: warning: .*APP_RUN.*node bin\/x\.js/);
  const json = await called(it, ['lint', 's'], { json: true });
  expect(json.code).toBe(0);
  expect(JSON.parse(json.out)).toMatchObject({
    exit_code: 0,
    findings: [{ line: 2, severity: 'warning' }],
  });

  const none = await run(it, { isolation: 'required' });
  expect([none.code, none.err]).toEqual([
    2,
    expect.stringContaining('no sandbox works here: FACTORY_SANDBOX=none'),
  ]);
  expect((await run(it, { isolation: 'some' })).code).toBe(2);
  const refused = await run(it, { isolation: 'required' }, { FACTORY_SANDBOX: '' });
  expect(refused.code).toBe(2);
  expect((await run(it, {}, { FACTORY_ISOLATION: 'required' })).code).toBe(2);
});
