/** Two runs side by side. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runComparisonSchema } from '../../src/app/compare/shape.ts';
import { house } from '../support/house.ts';

const pipeline = `digraph fix {
  workdir="none"
  vars="who=you"
  start [shape=Mdiamond]
  write [shape=box, prompt="Say it to \${var.who}", response_file="said.txt", allowed_write_paths="said.txt"]
  check [shape=parallelogram, tool_command="grep -q Hello said.txt", timeout=30s]
  exit [shape=Msquare]
  start -> write -> check
  check -> exit [condition="outcome=success"]
}`;
const answers = (...texts: readonly string[]) =>
  JSON.stringify({ format: 'factory-script/1', answers: { write: texts.map((text) => ({ text })) } });

let it: Awaited<ReturnType<typeof house>>;
beforeAll(async () => {
  it = await house({
    'fix.dot': pipeline,
    'no.json': answers('Good day', 'Good day'),
    'yes.json': answers('Hello', 'Hello'),
  });
  const run = (runId: string, script: string, more = {}) =>
    it.run('fix.dot', { agent: 'scripted', script, quiet: true, runId, ...more });
  expect((await run('a', 'no.json')).code).toBe(1);
  expect((await run('again', 'no.json')).code).toBe(1);
  expect((await run('b', 'yes.json')).code).toBe(0);
  expect((await run('them', 'no.json', { var: ['who=them'] })).code).toBe(1);
  const set = ['check.tool_command=grep -q day said.txt'];
  expect((await it.fork('a', { at: 'check', before: true, set, quiet: true, runId: 'f' })).code).toBe(0);
});
afterAll(() => it[Symbol.asyncDispose]());

const compared = async (a: string, b: string) => {
  const told = await it.verb(['compare', a, b], { json: true });
  expect(told.code, told.err).toBe(0);
  return runComparisonSchema().parse(JSON.parse(told.out));
};

test('runs that did the same do not part', async () => {
  expect(await compared('a', 'again')).toMatchObject({
    line: 'Both runs have the same 3 executions',
    same: 3,
    parting: null,
    inputs: [],
    files: [{ path: 'said.txt', a: 'created', b: 'created', same: true }],
  });
});

test('runs part at the execution that left other files, and what follows is told by node', async () => {
  const { parting, line, nodes, files, inputs } = await compared('a', 'b');
  expect(line).toBe('The ways part at write@1 (execution 2): other changed files');
  expect(parting?.differs).toEqual([{ what: 'changes', name: 'said.txt', a: 'created', b: 'created' }]);
  expect(nodes.map(({ node, a, b }) => [node, a?.state, b?.state])).toEqual([
    ['start', 'success', 'success'],
    ['write', 'success', 'success'],
    ['check', 'fail', 'success'],
    ['exit', undefined, 'success'],
  ]);
  expect(files).toEqual([{ path: 'said.txt', a: 'created', b: 'created', same: false }]);
  expect(inputs.map(({ name }) => name)).toEqual(['agent script']);
});

test('a fork with another command parts from its run there: settings, outcome and route', async () => {
  const { parting, line, same, inputs } = await compared('a', 'f');
  expect(line).toBe('The ways part at check@1 (execution 3): other settings, outcome and route');
  expect(same).toBe(2);
  const command = { a: 'grep -q Hello said.txt', b: 'grep -q day said.txt' };
  expect(parting?.differs).toEqual([
    { what: 'settings', name: 'tool_command', ...command },
    { what: 'outcome', name: '', a: 'fail (product)', b: 'success' },
    { what: 'route', name: '', a: null, b: 'exit' },
  ]);
  expect(inputs).toEqual([{ name: 'check.tool_command', ...command }]);
});

test('a variable is an input of the first prompt that has it', async () => {
  const { parting, inputs } = await compared('a', 'them');
  expect(parting?.differs).toEqual([{ what: 'inputs', name: 'prompt', a: null, b: null }]);
  expect(inputs).toEqual([{ name: 'var who', a: 'you', b: 'them' }]);
});

test('runs of a workdir that has changed between them are not the same', async () => {
  const copy = (command: string) => `digraph copy {
  start [shape=Mdiamond]
  make [shape=parallelogram, tool_command="${command}"]
  exit [shape=Msquare]
  start -> make
  make -> exit [condition="outcome=success"]
}`;
  await using there = await house({
    'copy.dot': copy('cp in.txt out.txt'),
    'note.dot': copy('echo made > out.txt'),
    'in.txt': 'one',
  });
  const run = (file: string, runId: string) => there.run(file, { quiet: true, runId });
  await run('copy.dot', 'c1');
  await run('note.dot', 'n1');
  writeFileSync(join(there.path, 'in.txt'), 'two');
  await run('copy.dot', 'c2');
  await run('note.dot', 'n2');
  const of = async (a: string, b: string) =>
    runComparisonSchema().parse(JSON.parse((await there.verb(['compare', a, b], { json: true })).out));
  const { line, inputs, parting } = await of('c1', 'c2');
  expect(line).toBe('The ways part at make@1 (execution 2): other changed files');
  expect(parting?.differs).toEqual([{ what: 'changes', name: 'out.txt', a: 'created', b: 'created' }]);
  expect(inputs.map(({ name }) => name)).toEqual(['file in.txt']);
  expect((await of('n1', 'n2')).line).toBe(
    'Both runs have the same 3 executions, but began with other files',
  );
  expect((await of('n1', 'n1')).line).toBe('Both runs have the same 3 executions');
});

test('the terminal shows both within 80 columns', async () => {
  const told = await it.verb(['compare', 'a', 'f']);
  const text = told.out.replace(/\d\.\ds/g, 'TIME');
  expect(text).toMatchInlineSnapshot(`
    "A  ✗ failed  a · fix.dot · 3 executions · TIME
       check: tool_exit_code_1
    B  ✓ completed  f · fix.dot · 4 executions · TIME
       4 nodes done

    The ways part at check@1 (execution 3): other settings, outcome and route
                             A                       B
      execution              check@1                 check@1
      settings tool_command  grep -q Hello said.txt  grep -q day said.txt
      outcome                fail (product)          success
      route                  ends                    -> exit
      reason                 tool_exit_code_1
      took                   TIME                    TIME

    Started with
                          A                       B
      check.tool_command  grep -q Hello said.txt  grep -q day said.txt

    Nodes
             A                       B
      start  ✓ success, TIME         ✓ success, TIME
      write  ✓ success, TIME         ✓ success, TIME
      check  ✗ fail (product), TIME  ✓ success, TIME
      exit   not executed            ✓ success, TIME

    1 changed file the same in both
    "
  `);
  expect(await it.verb(['compare', 'a', 'nope'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('no run "nope"'),
  });
});

test('secrets in a name and in variables are masked', async () => {
  const secret = 'a-secret-of-23-letters!';
  await using own = await house({ 'fix.dot': pipeline, 'yes.json': answers('Hello') }, () => ({
    APP_TOKEN: secret,
  }));
  for (const who of ['them', secret])
    await own.run('fix.dot', {
      ...{ agent: 'scripted', script: 'yes.json', quiet: true, runId: `r${who.length}` },
      ...{ name: `for ${who}`, var: [`who=${who}`] },
    });
  const { out } = await own.verb(['compare', 'r4', `r${secret.length}`], { json: true });
  expect(out).not.toContain(secret);
  expect(runComparisonSchema().parse(JSON.parse(out))).toMatchObject({
    a: { title: 'for them' },
    b: { title: 'for ***' },
    inputs: [{ name: 'var who', a: 'them', b: '***' }],
  });
});
