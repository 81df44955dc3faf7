/** `factory show`, `why` and `runs`, and the names of runs. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanEnv } from '../support/cli.ts';
import { house } from '../support/house.ts';
import { call, type Flags } from '../support/verb.ts';

const pipeline = (label: string, last: string) => `digraph g { workdir="none"; label="${label}"
  start [shape=Mdiamond]; exit [shape=Msquare]; bad [shape=Msquare, outcome=fail]
  make [shape=parallelogram, label="Make it", tool_command="echo made > made.txt"]
  check [shape=parallelogram, tool_command="echo 'ok 1 - fine'; echo 'not ok 2 - finds a broken anchor'; ${last}"]
  start -> make -> check
  check -> exit [condition="outcome=success"]; check -> bad [condition="outcome=fail"] }`;

let it: Awaited<ReturnType<typeof house>>;
beforeAll(async () => {
  it = await house({
    'good.dot': pipeline('Link checker', 'true'),
    'bad.dot': pipeline('Docs site', 'exit 1'),
  });
  await it.run('good.dot', { runId: 'good', quiet: true });
  await it.run('bad.dot', { runId: 'bad', quiet: true });
});
afterAll(() => it[Symbol.asyncDispose]());

const factory = (words: readonly string[], flags: Flags = {}, width?: number) =>
  call(words, flags, {
    cwd: it.path,
    env: cleanEnv({ HOME: it.path }),
    ...(width === undefined ? {} : { outIsTerminal: true, width }),
  });

test.for([
  ['-1', 'bad'],
  ['latest', 'bad'],
  ['-2', 'good'],
  ['goo', 'good'],
  ['LINK checker', 'good'],
  ['docs', 'bad'],
])('the name "%s" is the run %s', async ([name = '', id]) =>
  expect(JSON.parse((await factory(['show', name], { json: true })).out).run_id).toBe(id),
);

test.for([
  ['-3', /there is no run "-3": .* has only 2 runs/],
  ['nothing like it', /there is no run "nothing like it"/],
] as const)('the name "%s" is refused', async ([name, why]) => {
  const { code, err } = await factory(['why', name]);
  expect(code).toBe(2);
  expect(err).toMatch(why);
});

test('show without a run is the latest: its nodes, the words of its end and the next command', async () => {
  const { out } = await factory(['show'], { color: false }, 80);
  expect(out).toMatch(/^node +type +times +took +latest\nstart +start +1 +\S+ +✓ success\nmake /);
  expect(out).toMatch(/^check +tool +1 +\S+ +✗ fail · product · tool_exit_code_1$/m);
  expect(out).toMatch(/^bad +exit +1 +\S+ +✗ fail( ·.*)?$/m);
  expect(out).toMatch(/^✗ failed: bad: check: tool_exit_code_1\n {2}cause +node check \(product\)$/m);
  expect(out).toMatch(
    /^ {2}output +tool\.stdout\.txt:2\n {14}1 ok 1 - fine\n {12}> 2 not ok 2 - finds a broken anchor$/m,
  );
  expect(out).toMatch(/^ {2}fix +Change check in \S+:\d+, then execute it again in a fork$/m);
  expect(out).toMatch(
    /\n {2}next +after a change of check in[^:]+\S+:\n *factory fork bad --at check --before --pipeline \S+\n$/,
  );
});

test('show of a completed run has its result, and no next command where nothing is to be delivered', async () => {
  const { out } = await factory(['show', 'good'], { color: false });
  expect(out).toMatch(/^✓ success in \S+\n {2}nodes +4$/m);
  expect(out).not.toMatch(/^ {2}next/m);
});

test('show of a node has its output, why each edge was taken or not, its changes and its files', async () => {
  const { out } = await factory(['show', 'bad', 'check@1'], { color: false });
  expect(out).toMatch(/^✗ check@1 fail in \S+\n {2}reason +tool_exit_code_1\n {2}class +product$/m);
  expect(out).toMatch(
    /^ {2}then +bad: outcome=fail\n {12}not exit: its condition is false \(outcome=success\)$/m,
  );
  expect(out).toMatch(
    /what failed:\n {2}output +tool\.stdout\.txt:2\n {14}1 ok 1 - fine\n {12}> 2 not ok 2 - finds a broken anchor\n$/,
  );
  const made = (await factory(['show', 'bad', 'make'], { color: false })).out;
  expect(made).toMatch(/^✓ make@1 success in \S+ {2}Make it$/m);
  expect(made).toMatch(/^ {2}changed +A made.txt$/m);
  const { code, err } = await factory(['show', 'bad', 'chek']);
  expect(code).toBe(2);
  expect(err).toContain(
    'the run has executed no node "chek"\n  = fix: it has executed: start, make, check, bad',
  );
});

test('why says what failed, where it is written, and what to run next', async () => {
  const { out } = await factory(['why'], { color: false });
  expect(out.split('\n').slice(0, 2)).toEqual([
    '✗ failed: check: not ok 2 - finds a broken anchor',
    '  node check@1 failed (product): tool_exit_code_1',
  ]);
  const { out: shown } = await factory(['show', 'bad', 'check@1'], { color: false });
  expect(out).toContain(shown.slice(shown.indexOf('what failed:\n') + 13).trimEnd());
  expect(out).toMatch(/^ {2}then: bad$/m);
  expect(out).toMatch(/^ {2}evidence +\S+\/bad\/check\/tool\.stdout\.txt$/m);
  expect(out).toMatch(
    /\n {2}next +factory fork bad --at check --before --pipeline \S+ # after a change of check in \S+\n$/,
  );
  const { cause, card } = JSON.parse((await factory(['show', 'bad'], { json: true })).out);
  const {
    schema_version: _,
    run_id,
    status,
    question,
    questions,
    ...same
  } = JSON.parse((await factory(['why'], { json: true })).out);
  expect([run_id, status, question, questions, same]).toEqual([
    'bad',
    'failed',
    null,
    [],
    { ...cause, card },
  ]);
});

test.for([60, 80, 121, 130])('the list of runs fits a terminal of %d columns', async (width) => {
  const { out } = await factory(['runs'], { color: false }, width);
  const rows = out.split('\n').slice(0, -2);
  for (const row of rows) expect(row.length, row).toBeLessThan(width);
  expect(out).toMatch(
    /^bad +✗ failed +Docs site +\d\d:\d\d|^bad +✗ failed +Docs site +\d{4}-\d\d-\d\d \d\d:\d\d/m,
  );
  expect(out).toContain('check: not ok 2 - finds a broken anchor');
  expect(out).toMatch(/^good +✓ completed +Link checker/m);
});

test('where no edge takes an outcome, the execution says that, and names no next node', async () => {
  await using other = await house({
    'stuck.dot': `digraph g { workdir="none"; start; exit; a [shape=parallelogram, tool_command="exit 1"]
      start -> a; a -> exit [condition="outcome=success"] }`,
  });
  await other.run('stuck.dot', { runId: 'stuck', quiet: true });
  const doors = { cwd: other.path, env: cleanEnv({ HOME: other.path }) };
  const { out } = await call(['show', 'stuck', 'a'], { color: false }, doors);
  expect(out).toMatch(
    /^ {2}then +no edge for outcome fail\n {12}not exit: its condition is false \(outcome=success\)$/m,
  );
  expect(JSON.parse((await call(['show', 'stuck', 'a'], { json: true }, doors)).out)).toMatchObject({
    next: null,
  });
});
