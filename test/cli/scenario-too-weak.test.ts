/** Scenarios that a node of a run has run and that passed: their strength is measured where the engine's variables ask for it. */
import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { strengthRequest } from '../../src/cli/strength-request.ts';
import { headRef } from '../../src/core/records/layout.ts';
import { cleanEnv, home } from '../support/cli.ts';
import { call } from '../support/verb.ts';

const files = {
  // One of its two mutants changes what the scenario looks at.
  'app/add.mjs':
    "const [a, b] = process.argv.slice(2).map(Number);\nif (a > b) console.error('large');\nconsole.log(a + b);\n",
  's/a_scenario.sh':
    'if [ "$SCENARIO_MODE" = selftest ]; then exit 0; fi\n[ "$("$APP_RUN" node add.mjs 2 3 </dev/null)" = 5 ] || exit 1\n',
};

type Judging = {
  readonly context?: string;
  readonly more?: Readonly<Record<string, string>>;
  readonly place?: string;
  readonly ifAny?: boolean;
};

/** What the node answers, and what it leaves for people with the key. */
async function judged(
  env: Readonly<Record<string, string>>,
  { context = '{}', more = {}, place = 's', ifAny }: Judging = {},
) {
  await using it = await home({ ...files, ...more, 'context.json': context });
  const at = (name: string) => join(it.path, name);
  await mkdir(at('base'));
  const given = {
    ...{
      TMPDIR: it.path,
      HOME: it.path,
      XDG_CACHE_HOME: '',
      FACTORY_ISOLATION: 'auto',
      FACTORY_BASE: at('base'),
    },
    ...{
      FACTORY_OUTPUT: at('out.json'),
      FACTORY_CONTEXT: at('context.json'),
      FACTORY_SURVIVORS: at('survivors'),
    },
  };
  const told = await call(
    ['scenario', 'run', place],
    { app: 'app', floor: 'false', ifAny },
    { cwd: it.path, env: cleanEnv({ ...given, ...env }) },
  );
  const isKept = existsSync(at('survivors'));
  return {
    told,
    output: JSON.parse(await it.read('out.json')),
    survivors: isKept ? JSON.parse(await it.read('survivors')).survivors : undefined,
    mode: isKept ? statSync(at('survivors')).mode & 0o777 : undefined,
    cache: existsSync(at('.cache/factory/strength')),
  };
}

test('a required strength that is missed fails the node, and nothing but the private file names a mutant', async () => {
  const { told, output, survivors, mode, cache } = await judged({ FACTORY_MIN_STRENGTH: '0.95' });
  expect(told.code).toBe(1);
  expect(output).toMatchObject({
    outcome: 'fail',
    preferred_next_label: 'too_weak',
    failure_class: 'scenario',
    failure_reason: expect.stringMatching(
      /^judge_too_weak: strength \d+ %, all \d+, required 95 % \(1 of 1 /,
    ),
    context_updates: { 'judge.class': 'scenario', 'judge.strength': { state: 'missed', required: 0.95 } },
  });
  expect(survivors).toContainEqual(expect.objectContaining({ file: 'add.mjs', line: 2, order: null }));
  expect([mode, cache]).toEqual([0o600, false]);
  expect(`${told.out}${told.err}${JSON.stringify(output)}`).not.toMatch(/add\.mjs|large|boundary/);
});

test('without a requirement the number is information, and without a sandbox there is none', async () => {
  const { told, output, survivors } = await judged({ FACTORY_STRENGTH: '60', FACTORY_ISOLATION: '' });
  expect(told.code).toBe(0);
  expect(told.out).toContain('strength unknown: mutants run only in a sandbox');
  expect(output).toMatchObject({
    outcome: 'success',
    context_updates: { 'judge.strength': { state: 'unknown', required: null } },
  });
  expect(survivors).toBeUndefined();
});

test.for([
  ['without a sandbox', { FACTORY_ISOLATION: '' }, /^judge_too_weak: strength undecided: mutants run only/],
  [
    'without the tree before the work',
    { FACTORY_BASE: '' },
    /^judge_too_weak: strength undecided: the tree with /,
  ],
  ['without time left', { FACTORY_TIME_LEFT: '1ms' }, /^judge_too_weak: strength undecided: the budget of /],
] as const)('%s a requirement stays undecided, and the node fails', async ([, env, reason]) => {
  const { told, output } = await judged({ FACTORY_MIN_STRENGTH: '0.1', ...env });
  expect([told.code, output.failure_reason]).toEqual([1, expect.stringMatching(reason)]);
});

test.for([
  [
    'no scenario runs live',
    { REQUIRE_LIVE: '0' },
    {},
    /^judge_too_weak: strength undecided: no scenario ran live \(0 of 1 scenario/,
  ],
  [
    'there is no scenario',
    {},
    { place: 'none', ifAny: true },
    /^judge_too_weak: strength undecided: there is no folder none/,
  ],
] as const)(
  'where %s a requirement is not met, and without one nothing changes',
  async ([_, env, how, reason]) => {
    const { told, output } = await judged({ FACTORY_MIN_STRENGTH: '0.1', ...env }, how);
    expect(told.code).toBe(1);
    expect(output).toMatchObject({
      ...{ outcome: 'fail', preferred_next_label: 'too_weak', failure_class: 'scenario' },
      failure_reason: expect.stringMatching(reason),
      context_updates: { 'judge.strength': { state: 'undecided', required: 0.1, rate: null } },
    });
    const free = await judged({ FACTORY_STRENGTH: '60', ...env }, how);
    expect([free.told.code, free.output.outcome]).toEqual([0, 'success']);
  },
);

test('changed source that cannot be mutated keeps a requirement from being met', async () => {
  const more = { 'app/more.rb': 'puts 1\n' };
  const { told, output } = await judged({ FACTORY_MIN_STRENGTH: '0.1' }, { more });
  expect([told.code, output.failure_reason]).toEqual([
    1,
    expect.stringMatching(
      /^judge_too_weak: strength \d+ %, all \d+, 1 file not mutated, required 10 %: undecided: nothing is known of 1 file in Ruby, /,
    ),
  ]);
  const free = await judged({ FACTORY_STRENGTH: '60' }, { more });
  expect([free.told.code, free.output.context_updates['judge.strength']]).toMatchObject([
    0,
    { state: 'measured', files_left_out: 1 },
  ]);
});

test.for([
  ['needs', "import { sum } from './core.test.mjs';\nconsole.log(sum(2, 3) + 0);\n", 'undecided', 1],
  ['does not need', 'console.log(2 + 3);\n', 'met', 0],
] as const)('a product that %s its changed file with the name of a test', async ([, add, state, count]) => {
  const more = { 'app/add.mjs': add, 'app/core.test.mjs': 'export const sum = (a, b) => a + b;\n' };
  const { told, output } = await judged({ FACTORY_MIN_STRENGTH: '0.1' }, { more });
  expect([told.code, output.context_updates['judge.strength']]).toMatchObject([
    count,
    { state, files_left_out: count },
  ]);
  if (count === 1)
    expect(output.failure_reason).toMatch(
      /undecided: nothing is known of 1 file named or marked as tests, generated or vendored, but needed by /,
    );
});

test('a file that git ignores counts where the history of the run has it', async () => {
  await using it = await home({ ...files, 'app/.gitignore': 'add.mjs\n', 'context.json': '{}' });
  const at = (name: string) => join(it.path, name);
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@y', ...args], {
      cwd: it.path,
      env: cleanEnv(),
    });
  git('init', '-q', '--bare', 'history');
  const made = ['--git-dir=history', '--work-tree=.'];
  git(...made, 'add', '--force', 'app');
  git(...made, 'commit', '-qm', 'one');
  git(...made, 'update-ref', headRef, 'HEAD');
  await mkdir(at('base'));
  const judgedWith = async (history: string) => {
    const env = {
      ...{ TMPDIR: it.path, HOME: it.path, XDG_CACHE_HOME: '', FACTORY_ISOLATION: 'auto' },
      ...{ FACTORY_BASE: at('base'), FACTORY_CONTEXT: at('context.json'), FACTORY_OUTPUT: at('out.json') },
      ...{ FACTORY_STRENGTH: '60', FACTORY_HISTORY: history },
    };
    await call(
      ['scenario', 'run', 's'],
      { app: 'app', floor: 'false' },
      { cwd: it.path, env: cleanEnv(env) },
    );
    return JSON.parse(await it.read('out.json')).context_updates['judge.strength'].state;
  };
  expect([await judgedWith(at('history')), await judgedWith(at('none'))]).toEqual(['measured', 'unknown']);
});

test('a strength of an earlier product does not stay in the context; elsewhere the key is not set', async () => {
  const first = await judged({});
  expect(Object.keys(first.output.context_updates)).not.toContain('judge.strength');
  const second = await judged({}, { context: '{"judge.strength": {"state": "met"}}' });
  expect(second.output.context_updates).toMatchObject({ 'judge.strength': '' });
});

test.for([
  ['FACTORY_STRENGTH', '0', 'is less than 1'],
  ['FACTORY_MIN_STRENGTH', '80%', 'is not a number'],
  ['FACTORY_STRENGTH_BUDGET', 'soon', 'is not a duration'],
])('%s=%s is refused', ([name = '', text = '', why = '']) => {
  expect(strengthRequest({ env: { FACTORY_STRENGTH: '60', [name]: text } })).toMatchObject({
    problems: [{ message: expect.stringContaining(`${name}=${text} ${why}`) }],
  });
});
