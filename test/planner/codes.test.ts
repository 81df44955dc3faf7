/** Every code: a plan with it, a similar plan without it, and its line in the docs. */
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { checkPlan, type Surroundings } from '../../src/planner/compile.ts';
import { type FindingCode, findingCodes, isStrictOnly } from '../../src/planner/findings.ts';
import { noPython } from '../support/python.ts';

const step = (id: string, commands: readonly string[], files: readonly string[], more: JsonObject = {}) => ({
  id,
  title: 'A step',
  intent: 'Do one thing.',
  preconditions: [],
  postconditions: files.map((path) => ({ kind: 'file_exists', path })),
  allowed_files: [...files],
  forbidden: [],
  acceptance_commands: [...commands],
  context_files: [...files],
  notes: null,
  ...more,
});
const found = (orders: readonly JsonObject[], around: Partial<Surroundings> = {}) =>
  checkPlan(JSON.stringify({ work_orders: orders }), { repoFiles: [], strict: true, ...around }).findings;
const codesOf = (command: string, files: readonly string[] = ['a'], around: Partial<Surroundings> = {}) =>
  found([step('WO-01', [command], files)], around).map(({ code }) => code);

/** Per row: the code, a command with only this finding, a similar one without findings. */
const rows: readonly (readonly [code: FindingCode, bad: string, good: string, files?: readonly string[]])[] =
  [
    ['E201', 'cmd 2>&1', "cmd '2>&1'"],
    ['E201', 'cmd >/dev/null', 'cmd ">/dev/null"'],
    ['E201', 'a&&b', 'a\\&\\&b'],
    ['E201', 'a|b', "a'|'b"],
    ['E201', 'echo a;', 'echo "a;"'],
    ['E201', 'sleep 9 &', 'sleep 9'],
    ['E201', 'a |& b', 'a "x |& y" b'],
    ['E201', 'cmd <<< x', 'cmd x'],
    ['E201', 'echo `date`', "echo '`date`'"],
    ['E201', 'echo $(date)', "echo 'costs $(5)'"],
    ['E201', 'pytest -q # all', "pytest -q '#' a#b"],
    ['E201', '! grep -q x a', 'grep -vq ! a'],
    ['E201', 'A=1 cd a', 'test cd'],
    ['E202', 'cat /etc/passwd', 'cat etc/passwd'],
    ['E202', 'cat ../a', 'cat a'],
    ['E202', '/usr/bin/test -f a', 'test -f a'],
    ['E202', 'cat ~/a', 'cat a~b'],
    ['E202', `true ${'a'.repeat(100_000)}`, `true ${'a'.repeat(1_000)}`],
    ['E202', 'NODE_OPTIONS=--require=x true', 'NODE_ENV=test true'],
    ['E202', "cat '&'", 'cat "a & b"'],
    ['E202', "cat '<<<' a", "cat 'x<<<' a"],
    ['E203', 'node -e "let a; let a"', 'node -e "let a; let b"'],
    ['E203', 'node --eval="("', 'node --eval="()=>1"'],
    ['E203', 'node -pe "a b"', 'node -pe "1"'],
    ['E203', 'node -p -e "a b"', 'node -p -e "1"'],
    ['E203', 'env A=1 node --no-warnings -e "a b"', 'env A=1 node --no-warnings -e 1'],
    ['E203', 'node --input-type=module -e "with (a) {}"', 'node -e "with (a) {}"'],
    ['E203', 'node -e "return 1"', 'node -e "(() => { return 1 })()"'],
    ['E207', 'python3 -c "def"', 'python3 -c "pass"'],
    ['E207', 'env python -c "def"', 'python -m x -c "def"'],
    ['E207', 'python -Ic "def"', 'python script.py -c "def"'],
    ['W201', 'test -f $NAME', "test -f '$NAME'"],
    ['W201', 'test -f ${NAME}', 'test -f \\${NAME}'],
    ['W201', 'grep x *.js', 'grep x "*.js"'],
    ['W201', 'grep x a?.js', 'grep "x?" a.js'],
    ['W201', 'cat {a,b}', 'cat {a} "{a,b}"'],
    ['W201', 'grep x [ab].js', '[ -f a ]'],
    ['W203', 'node -e "require(\'./b\')"', 'node -e "require(\'./b\')"', ['b/index.js']],
    ['W203', 'node -e "require(\'./b.json\')"', 'node -e "require(\'./b\')"', ['b.json']],
    ['W203', 'node -e "import(\'./b\')"', 'node -e "import(\'./b.js\')"', ['b.js']],
    ['W203', 'node -e "import b from \'./b.js\'"', 'node -e "import b from \'./x/../b.js?v=1\'"', ['b.js']],
    ['W203', 'node -e "export * from \'./b.js\'"', "node -e \"'import'; x.require('./b')\""],
    ['W203', "node -e \"x = from\n'./c'; require('./b')\"", 'node -e "x = from\n\'./b\'"'],
    ['W203', 'node -e "require(\'../b\')"', 'node -e "// require(\'../b\')"'],
    ['W208', 'python3 -c "import b"', 'python3 -c "import b"', ['b.py']],
    ['W208', 'python3 -c "from b.c import d"', 'python3 -c "import os.path"', ['b/c/__init__.py']],
  ];

const needsPython = (command: string) => /python.* -\w*c /.test(command);

describe('commands in plans', () => {
  test.for(rows)('%s: %j has it, and %j has nothing', ([code, bad, good, files = ['a']], { skip }) => {
    skip(needsPython(bad) && noPython !== '', noPython);
    expect(codesOf(bad, bad === good ? ['a'] : files.filter((file) => file === 'a'))).toEqual([code]);
    expect(codesOf(good, files)).toEqual([]);
  });

  test('a finding names its order and field, and is listed after the errors of other rules', ({ skip }) => {
    skip(noPython !== '', noPython);
    const orders = [
      step('WO-01', ['node -e "("', 'a | b', 'python -c "import zed"', 'cat $X'], ['a']),
      step('WO-02', ['cat /x'], ['b'], { preconditions: [{ kind: 'file_exists', path: 'c' }] }),
    ];
    const where = found(orders).map(({ code, wo_id, field }) => [code, wo_id, field]);
    expect(where).toEqual([
      ['E003', 'WO-01', 'acceptance_commands'],
      ['E101', 'WO-02', 'preconditions'],
      ['E203', 'WO-01', 'acceptance_commands'],
      ['E202', 'WO-02', 'acceptance_commands'],
      ['W101', 'WO-01', 'acceptance_commands'],
      ['W201', 'WO-01', 'acceptance_commands'],
    ]);
  });

  test('without strict rules the strict findings are notes, and the plan is valid', () => {
    for (const [code, bad] of rows.filter(([, command]) => noPython === '' || !needsPython(command))) {
      const text = JSON.stringify({ work_orders: [step('WO-01', [bad], ['a'])] });
      const { plan, findings, notes } = checkPlan(text, { repoFiles: [] });
      const [one] = [...findings, ...notes];
      if (one === undefined) throw new Error(`${bad} has no finding`);
      expect([code, notes.length]).toEqual([one.code, isStrictOnly(one) ? 1 : 0]);
      expect(plan === undefined).toBe(!isStrictOnly(one) && code.startsWith('E'));
    }
  });

  test('a quoted lone operator is refused with a suggestion, a bare one without', () => {
    const message = (command: string) => found([step('WO-01', [command], ['a'])])[0]?.message;
    expect(message('grep "|" a')).toContain("grep -e'|' FILE");
    expect(message("echo a '&''&' b")).toContain('script');
    expect(message('grep \\| a')).toContain('script');
    expect(message('a | b')).not.toContain('script');
    expect(codesOf("grep -e'|' a")).toEqual([]);
  });

  test('E201 names each operator once, as written, and no quoted text', () => {
    const [finding] = found([step('WO-01', ["a 2>&1 1>&2 b>c;d;e '|' x&"], ['a'])]);
    expect(finding?.code).toBe('E003');
    const [other] = found([step('WO-01', ["a 2>&1 '1>x' b>c;d;e 'x|' x&"], ['a'])]);
    expect(other?.message).toContain('has 2>&1 and > and ; and &, which');
  });

  test('the global verify command has one finding of a separate code', () => {
    expect(codesOf('bash ./scripts/../scripts/verify.sh')).toEqual(['E105']);
  });

  test('the global verify command with a further argument is another command', () => {
    expect(codesOf('bash scripts/verify.sh fast', ['scripts/verify.sh'])).toEqual([]);
  });

  test('all ids come first, then order by order', () => {
    const orders = [step('WO-1', ['a | b'], ['a']), step('WO-2', ['c | d'], ['b'])];
    expect(found(orders).map(({ code, wo_id }) => `${code} ${wo_id}`)).toEqual([
      'E001 WO-1',
      'E001 WO-2',
      'E003 WO-1',
      'E003 WO-2',
    ]);
  });

  test.for<[string, readonly string[], readonly FindingCode[]]>([
    ['node /b.js', ['a'], ['E202']],
    ['node -e "require(\'./b\')"', ['b/package.json'], []],
    ['node -e "require(\'./b\')"', ['b.node'], []],
    ['node -e "import(\'./b\')"', ['b.js'], ['W203']],
    ['node -e "import(\'./b\')"', ['b/index.js'], ['W203']],
    ["bash -c 'cd b && a | c; d'", ['a'], []],
    ['node b.js', ['a'], []],
  ])('%j with the files %j has %j', ([command, files, codes]) => {
    expect(codesOf(command, files)).toEqual(codes);
  });

  test('a file exists from the order that creates it', () => {
    const [a, b] = ['node -e "require(\'./a\')"', 'node -e "require(\'./b\')"'];
    const orders = [step('WO-01', [b], ['x']), step('WO-02', [b, a], ['b.js'])];
    expect(found(orders).map(({ wo_id, code }) => [wo_id, code])).toEqual([
      ['WO-01', 'W203'],
      ['WO-02', 'W203'],
    ]);
    expect(found(orders, { repoFiles: ['b.js', 'a.js'] })).toEqual([]);
  });
});

test('every code of commands has rows above', () => {
  const second = findingCodes.filter((code) => /^.2/.test(code));
  expect(second.filter((code) => !rows.some(([other]) => other === code))).toEqual([]);
});
