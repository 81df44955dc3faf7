/** `factory scenario strength`: mutants of small products, judged without a sandbox where none is needed, and in real bubblewrap. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sandboxCapabilities } from '../../src/platform/sandbox/capabilities.ts';
import { mostProcesses } from '../../src/scenarios/strength/limits.ts';
import { cleanEnv, type Home, home } from '../support/cli.ts';
import { onDisk } from '../support/temporary.ts';
import { call, type Flags, type Told } from '../support/verb.ts';

onDisk();

const modes = 'if [ "$SCENARIO_MODE" = selftest ]; then exit 0; fi\n';
const asks = (call: string, answer: string) =>
  `[ "$("$APP_RUN" ${call} </dev/null)" = ${answer} ] || exit 1\n`;
const add = `const n = Number(process.argv[2]);
if (n > 90) process.exit(3);
console.log(n + 1);
`;
const sum = 'console.log(Number(process.argv[2]) + 1);\n';
const whole = `import { readFileSync } from 'node:fs';
if (readFileSync('add.mjs', 'utf8').trim() !== readFileSync('whole.txt', 'utf8')) process.exit(1);
`;
const asksSum = `${modes}${asks('node add.mjs 2', '3')}`;

async function project(files: Readonly<Record<string, string>>): Promise<Home> {
  const it = await home(files);
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@y', ...args], {
      ...{ cwd: join(it.path, 'app'), env: cleanEnv({ HOME: it.path }), stdio: 'pipe' },
    });
  git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', 'WO-01: Add\n\nWork-Order: WO-01');
  return it;
}

const measure = (
  it: Home,
  { place = 's', ...flags }: Flags & { readonly place?: string } = {},
  env: Readonly<Record<string, string>> = {},
): Promise<Told> =>
  call(
    ['scenario', 'strength', place],
    { app: 'app', isolation: 'auto', jobs: 1, ...flags },
    { cwd: it.path, env: cleanEnv({ TMPDIR: it.path, HOME: it.path, XDG_CACHE_HOME: '', ...env }) },
  );

const json = async (...asked: Parameters<typeof measure>) => {
  const [it, flags, env] = asked;
  const { code, out, err } = await measure(it, { ...flags, json: true }, env);
  expect(err).toBe('');
  return { code, ...JSON.parse(out) };
};

test('it prints the number, and each survivor with its line, its difference and the order that wrote it', async () => {
  await using it = await project({
    'app/add.mjs': add,
    's/a_scenario.sh': `${modes}echo . >>"$HOME/judged"\n${asks('node add.mjs 2', '3')}`,
    's/net_scenario.sh': `${modes}# requires-network: example.org\nexit 1\n`,
  });
  const told = await measure(it, { tests: 'node add.mjs 91; test $? = 3' });
  expect(told).toMatchObject({ code: 0, err: '' });
  const [suite = '', tests = ''] = told.out.split('\ntests: ');
  expect(suite).toMatch(
    /^strength \d\d %, all \d+, 1 scenario not run\n\d+ killed, \d+ survived\nleft out: net_scenario.sh, which declares requires-network\n\n/,
  );
  expect(suite).toContain(
    'add.mjs:2  number  WO-01: Add\n  - if (n > 90) process.exit(3);\n  + if (n > 90) process.exit(4);\n',
  );
  expect(tests).toMatch(/^strength \d\d %, all \d+\n/);
  // A second measurement only judges the product itself.
  const before = (await it.read('judged')).length;
  const again = await json(it, { sample: 3, seed: 'x' });
  expect((await it.read('judged')).length - before).toBe(2 * 5);
  expect(again).toMatchObject({ schema_version: 1, exit_code: 0, tests: null });
  expect(again.strength).toMatchObject({ state: 'measured', complete: false, why: null });
  expect(again.strength.killed + again.strength.survived).toBe(3);
});

test.for<[string, Readonly<Record<string, string>>, Flags, number, RegExp]>([
  ['there is no sandbox', {}, { isolation: 'required' }, 2, /mutants run only in a sandbox: FACTORY_SANDBOX/],
  ['there is no folder', {}, { place: 'none' }, 2, /there is no folder none/],
  ['the commit is unknown', {}, { base: 'nothing' }, 2, /there is no commit nothing in app/],
  ['the product is missing', {}, { app: 'none' }, 2, /there is no product in none/],
  [
    'no language is known',
    { 'app/add.mjs': '', 'app/a.rb': 'puts 1\n' },
    {},
    0,
    /strength unknown: nothing can be mutated: 1 file in Ruby, which cannot be mutated\n/,
  ],
  ['no file is wanted', {}, { files: '*.py' }, 0, /strength unknown: no file under git was changed/],
  [
    'every scenario needs the network',
    { 's/a_scenario.sh': '# requires-network: example.org\n' },
    {},
    0,
    /strength unknown: every scenario declares requires-network or requires-env\nleft out: a_scenario.sh/,
  ],
  [
    'the product itself fails',
    { 's/a_scenario.sh': `${modes}exit 1\n` },
    {},
    1,
    /strength undecided: the product without a mutant does not pass: a_scenario.sh: exit code 1 in live/,
  ],
  [
    'infrastructure fails',
    { 's/a_scenario.sh': `${modes}exit 86\n` },
    {},
    86,
    /strength undecided: the product without a mutant does not pass: a_scenario.sh/,
  ],
  [
    'a scenario fails that has passed at first',
    { 's/a_scenario.sh': `${modes}echo . >>"$HOME/n"; [ "$(wc -l <"$HOME/n")" -le 5 ] || exit 1\nexit 0\n` },
    {},
    1,
    /strength undecided: the product without a mutant passed at first, but not after \d+ mutants: a_scenario/,
  ],
  [
    'the product that is judged is not the source',
    {
      'app/.gitignore': 'out/\n',
      'app/out/add.mjs': sum,
      's/a_scenario.sh': asksSum.replace('add', 'out/add'),
    },
    {},
    1,
    /strength undecided: nothing notices when the mutated files are empty, .*--build\n0 killed, (\d+) survived \(\1 in files/,
  ],
  [
    'a scenario notices that a file was touched',
    { 's/a_scenario.sh': `${asksSum}[ "$(wc -l <add.mjs)" -eq 1 ] || exit 1\n` },
    {},
    1,
    /strength undecided: the product passes, but not when add.mjs has one more comment at the end: a_scenario.sh: exit/,
  ],
  [
    'the product notices any change but of white space at the end of its source',
    {
      'app/add.mjs': `${whole}${sum}`,
      'app/whole.txt': `${whole}${sum}`.trim(),
    },
    {},
    1,
    /strength undecided: the product passes, but not when add.mjs has one more comment at the end: a_scenario.sh: exit/,
  ],
  [
    'the build notices that a file was touched',
    {},
    { build: 'test $(wc -l <add.mjs) -eq 1' },
    1,
    /strength undecided: the product passes, but not when add.mjs has .*: the build fails: exit code 1;/,
  ],
  [
    'the build refuses what runs',
    {},
    { build: `test "$(head -n 1 add.mjs)" = '${sum.trim()}'` },
    1,
    /strength undecided: (\d+) of \1 mutants could not be built, more than a third, .* --build does \(test /,
  ],
])('where %s, the exit code and the words say so', async ([_, files, flags, code, words]) => {
  await using it = await project({ 'app/add.mjs': sum, 's/a_scenario.sh': asksSum, ...files });
  const told = await measure(it, flags);
  expect(`${told.out}${told.err}`).toMatch(words);
  expect(told.code).toBe(code);
});

test('with a build the source is judged, and a mutant that cannot be built does not count', async () => {
  await using it = await project({
    'app/.gitignore': 'out/\n',
    'app/add.mjs': sum,
    's/a_scenario.sh': asksSum.replace('add', 'out/add'),
  });
  const build = "mkdir -p out && ! grep -q -e '- 1' add.mjs && cp add.mjs out/";
  const { strength, survivors } = await json(it, { build });
  expect(strength).toMatchObject({ state: 'measured', complete: true, not_built: 1, not_reached: 0 });
  expect(strength.killed).toBeGreaterThan(1);
  expect(survivors).toHaveLength(strength.survived);
});

test('a compiler that leaves what it made before, where a file is empty, does not hide that the file is run', async () => {
  await using it = await project({
    'app/src/A.java': 'class A { int a() {\n  return 41;\n} }\n',
    // As javac: nothing is made of an empty file, and nothing of one that is wrong.
    'app/build.sh':
      'mkdir -p out; if grep -q "^}$" src/A.java; then exit 1; fi\n[ ! -s src/A.java ] || sed -n "s/.*return \\(.*\\);/echo \\1/p" src/A.java >out/a\n',
    's/a_scenario.sh': `${modes}${asks('sh out/a', '41')}`,
  });
  const { strength } = await json(it, { build: 'sh build.sh', files: ['*.java'] });
  expect(strength).toMatchObject({ state: 'measured', not_reached: 0, rate: 1 });
});

test('interrupted, it prints the number so far', async () => {
  await using it = await project({
    'app/add.mjs': add,
    's/a_scenario.sh': `${modes}${asks('node add.mjs 2', '3')}`,
  });
  const stop = new AbortController();
  const told = await call(
    ['scenario', 'strength', 's'],
    { app: 'app', isolation: 'auto', jobs: 1 },
    {
      ...{ cwd: it.path, env: cleanEnv({ TMPDIR: it.path, HOME: it.path, XDG_CACHE_HOME: '' }) },
      ...{ errIsTerminal: true, signal: () => stop.signal },
    },
    (heard) => void (/K3 of \d+ mutants judged/.test(heard) && stop.abort()),
  );
  expect(told.code).toBe(130);
  expect(told.out).toMatch(/^strength \d+ % \(\d+–\d+\), 3 of \d+\n/);
  expect(told.out).toContain('interrupted: the same command continues');
});

const ladder = await sandboxCapabilities(process.env);

test.skipIf('missing' in ladder.bwrap)(
  'in a sandbox: mutants that never end, delete or write elsewhere harm nothing, get no secret, and dependencies stay as they are',
  async () => {
    const dependencies = Object.fromEntries(
      Array.from({ length: 301 }, (_, n) => [`app/node_modules/one/${n}.mjs`, `export const one = ${n};\n`]),
    );
    await using it = await project({
      ...dependencies,
      'app/.gitignore': 'node_modules/\n',
      'app/add.mjs': `import { execSync } from 'node:child_process';
import { one } from 'one/1.mjs';
const n = Number(process.argv[2]) + one;
if (n === 99) {
  execSync('rm -rf /tmp/* "$HOME" . ; touch "$OUTSIDE"');
  for (;;);
}
console.log(process.env.MY_TOKEN ?? n);
`,
      's/a_scenario.sh': `${modes}${asks('node add.mjs 2', '3')}`,
    });
    const outside = join(it.path, 'outside');
    const flags = { isolation: 'required', jobs: 2 };
    const env = { FACTORY_SANDBOX: '', MY_TOKEN: 'abcdefgh12345678', OUTSIDE: outside };
    const { code, strength } = await json(it, flags, env);
    expect([code, strength.state]).toEqual([0, 'measured']);
    expect(strength.timed_out).toBeGreaterThan(0);
    expect(existsSync(outside)).toBe(false);
    expect(await it.list('app/node_modules/one')).toHaveLength(301);
    expect(await it.read('app/add.mjs')).toContain('n === 99');
  },
);

test.runIf('argv' in ladder.bwrap && ladder.countsApart && (!ladder.root || ladder.crowds !== undefined))(
  'in a sandbox a product gets so many processes, and runs after everything else',
  async () => {
    await using it = await project({
      'app/many.mjs': `import { spawn } from 'node:child_process';
import { getPriority } from 'node:os';
const all = Array.from({ length: ${mostProcesses + 50} }, () => spawn('sleep', ['20']).on('error', () => {}));
const started = all.filter(({ pid }) => pid !== undefined);
console.log(getPriority(), started.length < ${mostProcesses} && started.length > 20);
for (const one of started) one.kill('SIGKILL');
`,
      's/a_scenario.sh': `${modes}${asks('node many.mjs', '"19 true"')}`,
    });
    const flags = { isolation: 'required', jobs: 1, sample: 1 };
    const { code, strength } = await json(it, flags, { FACTORY_SANDBOX: '' });
    expect([code, strength.state, strength.why]).toEqual([0, 'measured', null]);
  },
);
