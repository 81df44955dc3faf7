/** Suites of scenarios that pass are shown products that do nothing, and the tree before the work. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { nullProducts } from '../../src/scenarios/floor/null-products.ts';
import type { ScenarioReport } from '../../src/scenarios/result.ts';
import { cleanEnv, type Home, home } from '../support/cli.ts';
import { call, type Flags, type Told } from '../support/verb.ts';

const modes = 'if [ "$SCENARIO_MODE" = selftest ]; then exit 0; fi\n';

/** Adds two numbers. */
const product = `#!/bin/sh
# Copyright
case $1 in
  --help) echo 'usage: add.sh A B' ;;
  *[!0-9]* | '') echo 'error: no number' >&2; exit 2 ;;
  *) echo "$(($1 + $2))" ;;
esac
`;
const real = '[ "$("$APP_RUN" sh add.sh 2 3 </dev/null)" = 5 ] || exit 1\n';

type Suite = Readonly<Record<string, string>>;

const project = (suite: Suite, more: Readonly<Record<string, string>> = {}): Promise<Home> =>
  home({
    'app/add.sh': product,
    ...more,
    ...Object.fromEntries(
      Object.entries(suite).map(([name, text]) => [`s/${name}`, name.endsWith('.sh') ? modes + text : text]),
    ),
  });

const run = (
  it: Home,
  { place = 's', ...flags }: Flags & { readonly place?: string } = {},
  env: Readonly<Record<string, string>> = {},
): Promise<Told> =>
  call(
    ['scenario', 'run', place],
    { app: 'app', jobs: 4, ...flags },
    {
      cwd: it.path,
      env: cleanEnv({ TMPDIR: it.path, HOME: it.path, XDG_CACHE_HOME: '', ...env }),
    },
  );

const report = async (...asked: Parameters<typeof run>): Promise<ScenarioReport> => {
  const [it, flags, env] = asked;
  return JSON.parse((await run(it, { ...flags, json: true }, env)).out);
};
const floorOf = async (...asked: Parameters<typeof run>) => (await report(...asked)).floor;

describe('a suite that accepts a product that does nothing has failed', () => {
  test.for([
    ['it ends with exit code 0', 'exit 0\n', 'silent'],
    ['it only asks for help', '"$APP_RUN" sh add.sh --help >/dev/null\n', 'silent'],
    [
      'it prints FAIL and ends with exit code 0',
      '[ "$("$APP_RUN" sh add.sh 2 3)" = 5 ] || echo FAIL\nexit 0\n',
      'silent',
    ],
    ['it searches the source', 'grep -q usage "$1/add.sh"\n', 'silent'],
    ['it ignores the output', '"$APP_RUN" sh add.sh 2 3 >/dev/null || exit 1\n', 'silent'],
    ['its check ends in || true', '[ "$("$APP_RUN" sh add.sh 2 3)" = 5 ] || true\n', 'silent'],
    ['it only checks that a file exists', '[ -f "$1/add.sh" ]\n', 'silent'],
    [
      'it compares the product with itself',
      'a=$("$APP_RUN" sh add.sh 2 3); b=$("$APP_RUN" sh add.sh 2 3); [ "$a" = "$b" ]\n',
      'silent',
    ],
    ['it asks for any output', '[ -n "$("$APP_RUN" sh add.sh 2 3)" ]\n', 'echo'],
    ['it asks for any failure', '! "$APP_RUN" sh add.sh x 2>/dev/null\n', 'failing'],
    ['it asks for any message', '[ -n "$("$APP_RUN" sh add.sh x 2>&1 >/dev/null)" ]\n', 'refusing'],
  ] as const)('where %s', async ([, text, accepted]) => {
    await using it = await project({ 'a_scenario.sh': text });
    const output = join(it.path, 'output.json');
    const told = await run(it, {}, { FACTORY_OUTPUT: output });
    expect([told.code, told.err]).toEqual([1, 'failure_class=scenario\n']);
    expect(told.out).toContain(`floor: failed: judge_accepts_nothing: the only scenario also passes`);
    expect(told.out).toMatch(/\n1 of 1 scenario pass, but the suite has failed: compare what .+\n$/);
    expect(await it.json('output.json')).toMatchObject({
      outcome: 'fail',
      failure_class: 'scenario',
      failure_reason: expect.stringMatching(`^judge_accepts_nothing: .*\\(${accepted}\\)`),
      context_updates: { 'judge.status': 'fail', 'judge.floor': 'failed' },
    });
  });

  test('several weak scenarios are no stronger than one, unless each rejects what the others accept', async () => {
    const weak = { 'a_scenario.sh': '"$APP_RUN" sh add.sh 2 3 >/dev/null\n', 'b_scenario.sh': 'exit 0\n' };
    await using it = await project(weak);
    expect(await floorOf(it)).toMatchObject({ state: 'failed', accepted: 'silent' });
    const some = {
      ...weak,
      'c_scenario.sh': 'o=$("$APP_RUN" sh add.sh 2 3); [ -n "$o" ] && [ "${o#*[!0-9]}" = "$o" ]\n',
    };
    await using stronger = await project(some);
    expect(await floorOf(stronger)).toMatchObject({ state: 'held' });
  });
});

const narrow: Suite = {
  'b_scenario.sh': 'a=$("$APP_RUN" sh add.sh 2 3); [ "$a" = "$("$APP_RUN" sh add.sh 2 3)" ]\n',
  'c_scenario.sh': '[ -f "$1/add.sh" ]\n',
  'd_scenario.sh': '"$APP_RUN" sh add.sh --help >/dev/null\n',
  'e_scenario.sh': '[ -z "$("$APP_RUN" sh add.sh 2 3 2>&1 >/dev/null)" ]\n',
  'f_scenario.sh': '! "$APP_RUN" sh add.sh x 2>/dev/null\n',
  'g_scenario.sh': '[ -n "$("$APP_RUN" sh add.sh 2 3)" ]\n',
  'h_scenario.sh': 'grep -q Copyright "$1/add.sh"\n',
};

test('seven narrow scenarios next to a real one hold, and the list says what each rejects', async () => {
  await using it = await project({ ...narrow, 'a_scenario.sh': real });
  const told = await run(it);
  expect([told.code, told.err]).toEqual([0, '']);
  expect(told.out).toContain('floor: held: every product that does nothing is rejected');
  const all = await run(it, { floor: 'all' });
  expect(all.code).toBe(0);
  expect(all.out).toContain(`  a_scenario.sh rejects ${nullProducts.join(', ')}\n`);
  expect(all.out).toContain('  f_scenario.sh rejects silent, echo\n');
  const idle = [...all.out.matchAll(/^warning: (\S+) shows nothing by itself/gm)].map(([, name]) => name);
  expect(idle).toEqual(['b_scenario.sh', 'c_scenario.sh', 'h_scenario.sh']);
});

test('one narrow scenario of several, by hand, is no suite', async () => {
  await using it = await project({ ...narrow, 'a_scenario.sh': real });
  const found = await report(it, { place: 's/b_scenario.sh' });
  expect(found).toMatchObject({ exit_code: 0, floor: { state: 'not_checked', reason: null } });
  const judged = await run(it, { place: 's/b_scenario.sh' }, { FACTORY_OUTPUT: join(it.path, 'out.json') });
  expect(judged.code).toBe(1);
});

test('a scenario that waits for a product rejects one that never comes, after its limit', async () => {
  const wait =
    '"$APP_RUN" sh add.sh 2 3 >"$SCENARIO_TMP/out"\nwhile [ ! -s "$SCENARIO_TMP/out" ]; do sleep 0.05; done\n';
  await using it = await project({ 'a_scenario.sh': `${wait}[ "$(cat "$SCENARIO_TMP/out")" = 5 ]\n` });
  const found = await floorOf(it, { timeout: '1s' });
  expect(found).toMatchObject({ state: 'held' });
});

test('missing infrastructure decides nothing', async () => {
  await using it = await project({
    'a_scenario.sh': 'out=$("$APP_RUN" sh add.sh 2 3); [ -n "$out" ] || exit 86\n[ "$out" = 5 ]\n',
  });
  expect(await report(it)).toMatchObject({
    status: 'pass',
    exit_code: 0,
    floor: { state: 'not_checked', why: expect.stringContaining('a_scenario.sh gave no verdict') },
  });
});

describe('a scenario that starts the product without APP_RUN', () => {
  const direct = { 'a_scenario.sh': '[ "$(sh "$1/add.sh" 2 3)" = 5 ]\n' };

  test('is not checked by hand, which is said', async () => {
    await using it = await project(direct);
    const told = await run(it);
    expect(told.code).toBe(0);
    expect(told.out).toMatch(/^floor: not checked: a_scenario\.sh starts the product without APP_RUN/m);
  });

  test.for([
    ['a real check', direct, 'held'],
    ['a check that decides nothing', { 'a_scenario.sh': 'sh "$1/add.sh" 2 3 || true\n' }, 'failed'],
    ['a check that ignores the output', { 'a_scenario.sh': 'sh "$1/add.sh" 2 3 >/dev/null\n' }, 'failed'],
    ['a search in the source', { 'a_scenario.sh': 'grep -q usage "$1/add.sh"\n' }, 'failed'],
    ['a program by a variable', { 'a_scenario.sh': 'p=./add.sh; [ "$(sh $p 2 3)" = 5 ]\n' }, 'held'],
    [
      'a language that is not read',
      {
        'a_scenario.pl':
          'exit 0 if $ENV{SCENARIO_MODE} eq "selftest"; exit(`sh add.sh 2 3` eq "5\\n" ? 0 : 1);\n',
      },
      'not_checked',
    ],
    ['no check in such a language', { 'a_scenario.pl': 'exit 0;\n' }, 'failed'],
  ] as const)('meets the product without what the run wrote: %s', async ([, suite, state]) => {
    await using it = await project(suite, { 'base/README.md': 'x' });
    expect(await floorOf(it, {}, { FACTORY_BASE: join(it.path, 'base') })).toMatchObject({ state });
  });

  test('passes where the run wrote nothing that it asks for', async () => {
    await using it = await project(direct, { 'base/add.sh': product, 'app/README.md': 'new' });
    expect(await floorOf(it, {}, { FACTORY_BASE: join(it.path, 'base') })).toMatchObject({
      state: 'held',
      passed_before: 1,
    });
  });
});

describe('on an existing project', () => {
  const suite = { 'a_scenario.sh': real, 'b_scenario.sh': '"$APP_RUN" sh add.sh --help >/dev/null\n' };
  const before = product.replace('+', '-');

  test('it is counted what passed before the work', async () => {
    await using it = await project(suite, { 'base/add.sh': before });
    const told = await run(it, {}, { FACTORY_BASE: join(it.path, 'base') });
    expect(told.code).toBe(0);
    expect(told.out).toContain('\n1 of 2 scenarios passed before the work\n');
    expect(told.out).not.toContain('warning');
  });

  test('a suite of which all passed before is a warning, and a failure with floor=strict', async () => {
    await using it = await project(suite, { 'base/add.sh': product });
    const env = { FACTORY_BASE: join(it.path, 'base') };
    const told = await run(it, {}, env);
    expect(told.code).toBe(0);
    expect(told.out).toContain('warning: the scenarios did not ask for this work: all 2 passed before it\n');
    const strict = await run(it, {}, { ...env, FACTORY_FLOOR: 'strict' });
    expect([strict.code, strict.err]).toEqual([1, 'failure_class=scenario\n']);
    expect(strict.out).toContain('floor: failed: work_not_asked_for');
  });

  test('a tree without files is none', async () => {
    await using it = await project(suite, { 'base/.factory/in/spec.md': '' });
    expect(await floorOf(it, {}, { FACTORY_BASE: join(it.path, 'base') })).toMatchObject({
      state: 'held',
      passed_before: null,
    });
  });
});

test('what is known of a suite is kept for the same scenarios and for no others', async () => {
  const counted = `[ "$("$APP_RUN" sh add.sh 2 3)" = 5 ] || { echo x >>"$COUNT"; exit 1; }\n`;
  await using it = await project({ 'a_scenario.sh': counted });
  const count = join(it.path, 'count');
  const rejections = async () => {
    expect(await floorOf(it, {}, { COUNT: count })).toMatchObject({ state: 'held' });
    return (await it.read('count')).split('\n').length - 1;
  };
  expect(await rejections()).toBe(5);
  expect(await rejections()).toBe(5);
  await writeFile(join(it.path, 's/a_scenario.sh'), `${modes}# changed\n${counted}`);
  expect(await rejections()).toBe(10);
});

test('floor=false leaves it off, which the report says', async () => {
  await using it = await project({ 'a_scenario.sh': 'exit 0\n' });
  expect(await report(it, { floor: 'false' })).toMatchObject({ exit_code: 0, floor: { state: 'off' } });
  const told = await run(it, {}, { FACTORY_FLOOR: 'false' });
  expect([told.code, told.out]).toEqual([0, expect.stringContaining('\nfloor: off\n')]);
  expect((await run(it, { floor: 'some' })).err).toContain('write true, false, strict, all');
});

test('a suite that was skipped says so first', async () => {
  await using it = await project({ 'a_scenario.sh': real });
  const output = join(it.path, 'output.json');
  const told = await run(it, {}, { REQUIRE_LIVE: '0', FACTORY_OUTPUT: output });
  expect(told.out).toMatch(/^nothing judged the product: the only scenario was skipped\n/);
  expect(await it.json('output.json')).toMatchObject({
    notes: expect.stringMatching(/^nothing judged the product: the only scenario was skipped: live is off/),
  });
});
