/** Views of runs: read from outside, from run directories that the command line has made. */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inspectExecution } from '../../../src/app/inspect/execution.ts';
import { executionViewSchema } from '../../../src/app/inspect/execution-shapes.ts';
import { inspectRun } from '../../../src/app/inspect/run.ts';
import { inspectRows, openRunList } from '../../../src/app/inspect/run-list.ts';
import { runRowSchema } from '../../../src/app/inspect/run-row.ts';
import { type RunView, runViewSchema } from '../../../src/app/inspect/shapes.ts';
import { realClock } from '../../../src/platform/clock.ts';
import { house } from '../../support/house.ts';

/** A loop that a tool leaves at its second execution, or never. */
const loop = (end: string) => `digraph g { workdir="none"; label="Ship it"
  start [shape=Mdiamond]; exit [shape=Msquare]
  check [shape=parallelogram, label="Run the check",
    tool_command="echo 'ERROR: no column email'; echo x >> n.txt; test $(wc -l < n.txt) -ge ${end}"]
  fix [shape=parallelogram, tool_command="echo fixed > fix.txt"]
  start -> check
  check -> exit [condition="outcome=success"]
  check -> fix [condition="outcome=fail"]
  fix -> check }`;

const straight = `digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]
  a [shape=parallelogram, tool_command="echo 'ERROR: no column email'; exit 3"]
  start -> a; a -> exit [condition="outcome=success"] }`;

/** A build that another program carries out, by what it leaves in the context. */
const asked = { orders: 9, asked: 4, used: 3, wasted: 1 };
const levels = [['WO-01', 'WO-02'], ['WO-03']];
const updates = JSON.stringify({ context_updates: { 'build.ahead': asked, 'plan.levels': levels } });
const ahead = `digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]
  build [shape=parallelogram, tool_command="cp told.json $FACTORY_OUTPUT"]
  write [shape=parallelogram, tool_command="printf '%s' '${updates.replaceAll('"', '\\"')}' > told.json"]
  start -> write -> build -> exit }`;

let it: Awaited<ReturnType<typeof house>>;
const doors = () => ({ cwd: it.path, clock: realClock, env: {} });
const dirOf = (id: string) => join(it.path, '.factory/runs', id);

beforeAll(async () => {
  it = await house({ 'loop.dot': loop('2'), 'straight.dot': straight });
  await it.run('loop.dot', { runId: 'good', quiet: true });
  await it.run('straight.dot', { runId: 'bad', quiet: true });
});
afterAll(() => it[Symbol.asyncDispose]());

async function view(id: string): Promise<RunView> {
  const read = await inspectRun(dirOf(id), doors());
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return runViewSchema().parse(read);
}

test('rows have title, headline, next command and what can be done', async () => {
  const rows = await inspectRows(join(it.path, '.factory/runs'), doors());
  for (const row of rows) runRowSchema().parse(row);
  expect(rows).toMatchObject([
    {
      ...{ run_id: 'bad', title: 'straight.dot', status: 'failed', needs_attention: true, at_node: 'a' },
      headline: 'a: ERROR: no column email',
      ...{
        next: 'factory resume bad --accept-changes # after adding an edge from a for outcome=fail to straight.dot',
        acts: ['resume', 'fork', 'replay', 'dismiss', 'remove'],
        progress: null,
        delivered: null,
      },
    },
    {
      ...{ run_id: 'good', title: 'Ship it', status: 'completed', needs_attention: false },
      ...{ headline: '5 nodes done', next: '', acts: ['fork', 'replay', 'remove'], reason: '' },
    },
  ]);
});

test('a run has the levels of its plan and what was asked ahead; its result has the counts', async () => {
  await using other = await house({ 'ahead.dot': ahead });
  await other.run('ahead.dot', { runId: 'built', quiet: true });
  const read = await inspectRun(join(other.path, '.factory/runs/built'), doors());
  expect(read).toMatchObject({ levels, ahead: asked, result: { status: 'completed', ahead: asked } });
  const plain = await view('good');
  expect(plain).toMatchObject({ levels: [], ahead: null });
  expect(plain.result).not.toHaveProperty('ahead');
});

test('a run is its executions in order, with why each came, and rounds of its loop', async () => {
  const { executions, groups, graph, last_event, result, cause } = await view('good');
  expect(executions.map(({ node, visit, state, how }) => [node, visit, state, how])).toEqual([
    ['start', 1, 'success', 'the only edge'],
    ['check', 1, 'fail', expect.stringContaining('outcome=fail')],
    ['fix', 1, 'success', 'the only edge'],
    ['check', 2, 'success', 'outcome=success'],
    ['exit', 1, 'success', ''],
  ]);
  expect(executions[1]).toMatchObject({ label: 'Run the check', class: 'product', next: 'fix', attempts: 1 });
  expect(groups).toMatchObject([
    {
      ...{ id: 'run', title: 'Ship it', kind: 'part', state: 'done' },
      attempts: [
        { state: 'failed', executions: ['start@1', 'check@1'] },
        { state: 'done', executions: ['fix@1', 'check@2', 'exit@1'] },
      ],
    },
  ]);
  expect(graph.nodes.find(({ id }) => id === 'check')).toMatchObject({ executions: 2, state: 'success' });
  expect(graph.edges.filter(({ taken }) => taken > 0).map(({ from, to }) => `${from} ${to}`)).toEqual([
    'start check',
    'check exit',
    'check fix',
    'fix check',
  ]);
  expect(last_event).toBe(it.records('.factory/runs/good/events.jsonl').length);
  expect(result?.status).toBe('completed');
  expect(cause).toBeNull();
});

test('the cause of a failed run names the execution, what it printed, its files and the next command', async () => {
  const { cause, card } = await view('bad');
  expect(cause).toMatchObject({
    node: 'a@1',
    next: 'factory resume bad --accept-changes # after adding an edge from a for outcome=fail to straight.dot',
  });
  expect(cause?.lines[0]).toMatch(/a@1 failed \(product\)/);
  expect(card?.excerpt?.lines[card.excerpt.at ?? -1]).toBe('ERROR: no column email');
  expect(cause?.evidence).toContain(join(dirOf('bad'), 'a/tool.stdout.txt'));
});

test('an execution has its output, its excerpt, its changes and every edge that was considered', async () => {
  const first = await inspectExecution(dirOf('good'), 'check', 1, doors());
  const read = executionViewSchema().parse(first);
  expect(read).toMatchObject({
    ...{ visit: 1, state: 'fail', withheld: false, prompt: null },
    excerpt: expect.stringContaining('ERROR: no column email'),
    output: [{ name: 'tool.stdout.txt', text: 'ERROR: no column email\n', from: 0 }],
    changes: { created: ['n.txt'], modified: [], deleted: [] },
    edges: [
      { to: 'exit', matched: false, why_not: 'its condition is false' },
      { to: 'fix', matched: true, why_not: '' },
    ],
  });
  expect(await inspectExecution(dirOf('good'), 'chek', undefined, doors())).toMatchObject({
    problems: [{ fix: 'it has executed: start, check, fix, exit' }],
  });
});

test('a list that is asked again reads only what has changed, and forgets a removed run', async () => {
  const list = openRunList(join(it.path, '.factory/runs'), doors());
  const before = await list.rows();
  const again = await list.rows();
  expect(again.map((row, at) => row === before[at])).toEqual([true, true]);
  await it.resume('bad', { quiet: true });
  expect((await list.rows()).map((row, at) => row === before[at])).toEqual([false, true]);
  rmSync(dirOf('bad'), { recursive: true });
  expect((await list.rows()).map(({ run_id }) => run_id)).toEqual(['good']);
});

test('an exit at which the run failed has failed in list and drawing, and the cause is not a missing edge', async () => {
  await using other = await house({
    'walks.dot': straight.replace(' [condition="outcome=success"]', ''),
    'stalls.dot': `digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]
      a [shape=parallelogram, tool_command="echo boom; exit 3"]; fix [prompt="fix it", agent=fake]
      start -> a; a -> exit [condition="outcome=success"]; a -> fix [condition="outcome=fail"]; fix -> a }`,
  });
  for (const id of ['walks', 'stalls']) await other.run(`${id}.dot`, { runId: id, quiet: true });
  const [walks, stalls] = await Promise.all(
    ['walks', 'stalls'].map((id) =>
      inspectRun(join(other.path, '.factory/runs', id), { ...doors(), cwd: other.path }),
    ),
  );
  if (walks === undefined || 'problems' in walks || stalls === undefined || 'problems' in stalls)
    throw new Error('not readable');
  expect(walks.executions.at(-1)).toMatchObject({ node: 'exit', state: 'fail' });
  expect(walks.graph.nodes.find(({ id }) => id === 'exit')?.state).toBe('fail');
  const lines = stalls.cause?.lines.join('\n');
  expect(lines).toContain('loop_stopped');
  expect(lines).not.toContain('no edge');
});

test('a run that was moved shows where it is, not where it was', async () => {
  cpSync(dirOf('good'), join(it.path, 'elsewhere/good'), { recursive: true });
  const read = await inspectRun(join(it.path, 'elsewhere/good'), doors());
  const { result } = 'problems' in read ? { result: null } : read;
  expect(result).toMatchObject({
    run_dir: join(it.path, 'elsewhere/good'),
    workspace: join(it.path, 'elsewhere/good/workspace'),
    verify: expect.stringContaining('elsewhere'),
  });
});
