/** Runs with branches on the command line: what they show, how a branch is run once more, and several open questions. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cleanEnv } from '../support/cli.ts';
import { house } from '../support/house.ts';
import { call, type Flags } from '../support/verb.ts';

async function place(files: Readonly<Record<string, string>>) {
  const it = await house(files, () => ({ FACTORY_SANDBOX: 'none' }));
  const factory = (words: readonly string[], flags: Flags = {}) =>
    call(words, flags, { cwd: it.path, env: cleanEnv({ HOME: it.path, FACTORY_SANDBOX: 'none' }) });
  const file = (run: string, name: string) => readFileSync(join(it.path, '.factory/runs', run, name), 'utf8');
  return { ...it, factory, file };
}

const failing = (join: string) => `digraph g { graph [label="Two views", workdir="none"]
  start [shape=Mdiamond] done [shape=Msquare] fan [shape=component, join_policy="all_success"]
  quick [shape=parallelogram, tool_command="echo q > quick.txt"]
  impl [shape=parallelogram, tool_command="echo x > impl.txt"]
  test [shape=parallelogram, tool_command="echo two tests fail; exit 1"]
  ${join} [shape=parallelogram, tool_command=true]
  start -> fan -> quick -> ${join}; fan -> impl -> test; test -> ${join} [condition="outcome=success"]
  no [shape=Msquare, outcome=fail]
  ${join} -> done [condition="outcome=success"]; ${join} -> no [condition="outcome=fail"] }`;

test('a failed join names the branch that failed, and the command that runs that branch once more', async () => {
  await using it = await place({ 'p.dot': failing('meet') });
  const ran = await it.factory(['run', 'p.dot'], { runId: 'r' });
  expect(ran.code).toBe(1);
  expect(ran.out).toMatch(/ {2}branches {2}1 completed, 1 failed\n {12}impl \(product\): .*tool_exit_code_1/);
  const next = 'factory fork r --at test@1 --before --pipeline p.dot # after a change of test in p.dot';
  expect(ran.out).toContain(next);
  const why = await it.factory(['why', 'r']);
  expect(why.out).toContain('branch impl failed at test@1 (product): tool_exit_code_1');
  expect(why.out).toMatch(/evidence {2}.*\/test\/tool\.stdout\.txt/);
  expect(why.out).toContain(next);
  const view = JSON.parse((await it.factory(['show', 'r'], { json: true })).out);
  expect(view.branches).toMatchObject([
    { id: 'quick', state: 'completed', opened_by: 'fan@1', executions: ['quick@1'] },
    { id: 'impl', state: 'failed', class: 'product', executions: ['impl@1', 'test@1'] },
  ]);
  expect(view.graph.edges.filter(({ from }: { from: string }) => from === 'fan')).toMatchObject([
    { to: 'quick', taken: 1 },
    { to: 'impl', taken: 1 },
  ]);
  expect((await it.factory(['show', 'r', 'fan'])).out).toMatch(/^ {2}then +meet: after 2 branches$/m);
  expect((await it.factory(['show', 'r', 'test'])).out).toMatch(/^ {2}then +no edge for outcome fail$/m);
  expect(await it.factory(['verify', 'r'])).toMatchObject({ code: 0 });
});

test('a fork in a branch keeps what the other branches had committed, and a changed join is refused', async () => {
  await using it = await place({ 'p.dot': failing('meet'), 'other.dot': failing('elsewhere') });
  await it.factory(['run', 'p.dot'], { runId: 'r' });
  const forked = await it.factory(['fork', 'r'], {
    at: 'test@1',
    before: true,
    runId: 'f',
  });
  expect(forked.code).toBe(1);
  const lines = it
    .file('f', 'journal.jsonl')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const executed = lines.filter(({ type }) => type === 'Began').map(({ node }) => node);
  expect(executed).toEqual(['test', 'meet', 'no']);
  expect(lines.filter(({ type }) => type === 'Visit').map(({ node }) => node)).toContain('quick');
  expect(await it.factory(['verify', 'f'])).toMatchObject({ code: 0 });
  const refused = await it.factory(['fork', 'r'], {
    ...{ at: 'impl@1', pipeline: 'other.dot' },
  });
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('error[fork-branches]') });
  expect(refused.err).toContain('--at fan --before');
});

const asking = `digraph g { graph [label="Two gates", workdir="none"]
  start [shape=Mdiamond] done [shape=Msquare] fan [shape=component] meet [shape=parallelogram, tool_command=true]
  a [shape=hexagon, prompt="Ship it?"] b [shape=hexagon, prompt="Where to?"]
  ship [shape=parallelogram, tool_command=true] eu [shape=parallelogram, tool_command=true]
  start -> fan -> a; fan -> b; a -> ship [label="[Y] Yes"]; b -> eu [label="[E] Europe"]
  ship -> meet; eu -> meet; meet -> done }`;

test('of several open questions each is answered by its id, and the run takes all answers', async () => {
  await using it = await place({ 'p.dot': asking });
  const ran = await it.factory(['run', 'p.dot'], { runId: 'r' });
  expect(ran.code).toBe(75);
  for (const words of [
    '? Ship it? (a@1)',
    'factory answer r a@1 --choice Y',
    '? Where to? (b@1)',
    'factory answer r b@1 --choice E',
  ])
    expect(ran.out).toContain(words);
  expect(JSON.parse(it.file('r', 'result.json'))).toMatchObject({
    question: { id: 'a@1' },
    questions: [{ id: 'a@1' }, { id: 'b@1' }],
  });
  const unnamed = await it.factory(['answer', 'r'], { choice: 'Y', noResume: true });
  expect(unnamed).toMatchObject({
    code: 2,
    err: expect.stringContaining('asks 2 questions: a@1: Ship it?; b@1: Where to?'),
  });
  expect((await it.factory(['answer', 'r'])).out).toMatch(/Ship it\?[\s\S]*Where to\?/);
  expect((await it.factory(['runs'])).out).toContain('Ship it? (and 1 more question)');
  for (const [question, choice] of [
    ['b@1', 'E'],
    ['a@1', 'Y'],
  ] as const)
    expect(await it.factory(['answer', 'r', question], { choice, noResume: true })).toMatchObject({
      code: 0,
    });
  expect(await it.factory(['resume', 'r'])).toMatchObject({ code: 0 });
  expect(await it.factory(['verify', 'r'])).toMatchObject({ code: 0 });
});
