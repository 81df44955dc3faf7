/** The journal of a run with branches: the state that its lines give. */
import { beforeEach, expect, test } from 'vitest';
import { nothingSpent } from '../../src/core/budget/usage.ts';
import { branchesOf, cursorOf, openQuestions, suspensions, viewOf } from '../../src/core/fork.ts';
import { failed, succeeded } from '../../src/core/outcome.ts';
import type { RunState } from '../../src/core/records/checkpoint.ts';
import type { VisitFacts } from '../../src/core/records/journal.ts';
import { openRun } from '../../src/run/open-run.ts';
import { openRunJournal, startJournal } from '../../src/run/run-journal.ts';
import { temp } from '../platform/temp.ts';

const at = '2026-01-01T00:00:00.000Z';
const ok = { ok: true, status: 'completed', reason: '', class: null } as const;
let steps = 0;
const visitOf = (node: string, more: Partial<VisitFacts> = {}): VisitFacts => ({
  type: 'Visit',
  at,
  node,
  node_type: 'tool',
  visit: 1,
  before: 's0',
  after: `s-${node}`,
  outcome: succeeded(),
  retries: 0,
  calls: 0,
  context: { set: { [node]: 1 }, unset: [] },
  origins: { set: { [node]: 'tool' } },
  next_node: 'next',
  arrived: null,
  steps: ++steps,
  elapsed_ms: 10,
  spent: nothingSpent,
  ...more,
});
const fan = (...ids: string[]): VisitFacts =>
  visitOf('fan', {
    node_type: 'parallel',
    next_node: 'join',
    fork: { join: 'join', branches: ids.map((id) => ({ id })) },
  });

let it: Awaited<ReturnType<typeof temp>>;
let journal: Awaited<ReturnType<typeof openRunJournal>>;
let state: RunState;
beforeEach(async (context) => {
  steps = 0;
  it = await temp();
  context.onTestFinished(() => it[Symbol.asyncDispose]());
  const history = await startJournal(it.dir, 'r', {
    type: 'Start',
    at,
    next_node: 'fan',
    context: { goal: 1 },
    origins: { goal: 'engine' },
    snapshot: 's0',
    manifest_sha256: 'm0',
  });
  journal = await openRunJournal(it.dir, { runId: 'r', epoch: 1, sync: false }, history);
  const { completed_nodes: _, ...before } = history.checkpoint;
  state = before;
});

/** Commits the lines, and checks after each that a reader of the journal has the same state. */
async function commit(...lines: Parameters<typeof journal.commit>[0][]): Promise<RunState> {
  for (const line of lines) {
    state = await journal.commit(line, state);
    const history = openRun(it.dir).history();
    if (!history.ok) throw new Error(history.why);
    const { completed_nodes: _, ...read } = history.checkpoint;
    expect(read).toEqual(state);
  }
  return state;
}

test('branches begin with the state of the fan-out, and each has its own from then on', async () => {
  await commit(fan('a', 'b'), visitOf('a', { branch: 'a', next_node: 'a2' }));
  expect(Object.keys(state.fork?.branches ?? {})).toEqual(['a', 'b']);
  expect(state).toMatchObject({ next_node: 'join', snapshot: 's-fan', context: { goal: 1, fan: 1 } });
  expect(cursorOf(state, 'a')).toMatchObject({
    context: { goal: 1, fan: 1, a: 1 },
    origins: { a: 'tool' },
    snapshot: 's-a',
    next_node: 'a2',
    nodes: ['a'],
  });
  const b = viewOf(state, 'b');
  expect(b).toMatchObject({ context: { goal: 1, fan: 1 }, next_node: 'b', snapshot: 's-fan' });
  expect(b.context).not.toHaveProperty('a');
  expect(b.origins).not.toHaveProperty('a');
  // What the run has by node is one for all.
  expect(b.visits).toEqual({ fan: 1, a: 1 });
});

test('the join closes the fork, and its line alone says what comes back', async () => {
  await commit(
    fan('a', 'b'),
    visitOf('a', { branch: 'a', next_node: 'join', branch_ended: ok }),
    visitOf('b', { branch: 'b', next_node: 'join', branch_ended: ok }),
  );
  expect(branchesOf(state).map(({ cursor }) => cursor.ended)).toEqual([ok, ok]);
  await commit(visitOf('join', { node_type: 'parallel.fan_in', joined: 'fan' }));
  expect(state.fork).toBeUndefined();
  expect(state.context).toEqual({ goal: 1, fan: 1, join: 1 });
  expect(state).toMatchObject({ next_node: 'next', snapshot: 's-join', steps: 4 });
});

test('a fork within a branch opens and closes in its cursor', async () => {
  const inner = {
    join: 'meet',
    branches: [{ id: 'x' }, { id: 'y', set: { item: 7 }, fresh: true as const }],
  };
  await commit(fan('a', 'b'), visitOf('a', { branch: 'a', next_node: 'meet', fork: inner }));
  expect(branchesOf(state).map(({ id, within }) => [id, within])).toEqual([
    ['a', []],
    ['x', ['a']],
    ['y', ['a']],
    ['b', []],
  ]);
  expect(viewOf(state, 'y')).toMatchObject({ context: { item: 7 }, origins: {}, snapshot: 's-a' });
  await commit(
    visitOf('x', { branch: 'x', next_node: 'meet', branch_ended: ok }),
    visitOf('y', { branch: 'y', next_node: 'meet', branch_ended: ok }),
    visitOf('meet', { branch: 'a', joined: 'a', next_node: 'join', branch_ended: ok }),
  );
  expect(cursorOf(state, 'a').fork).toBeUndefined();
  expect(cursorOf(state, 'a').nodes).toEqual(['a', 'meet', 'x', 'y']);
});

test('questions and suspensions of branches are open until the branch has a commit; other branches do not change them', async () => {
  const parked = (node: string) =>
    ({ status: 'paused_answer', node, reason: `ask ${node}`, wake_at: null, since: at }) as const;
  const question = {
    ...{ id: 'b@1', node: 'b', visit: 1, mode: 'yes_no' as const, text: '?', after: null, options: [] },
    ...{ text_to: null, default: null, timeout_action: 'fail' as const, asked_at: at, deadline: null },
  } as const;
  const stop = { type: 'BranchStopped', at, status: 'paused_answer' } as const;
  await commit(fan('a', 'b', 'c'));
  await commit(
    { ...stop, branch: 'b', reason: 'ask b', parked: parked('b'), question: { ...question, options: [] } },
    { ...stop, branch: 'c', reason: 'ask c', parked: parked('c'), cut_ms: 5 },
    visitOf('a', { branch: 'a', next_node: 'join', branch_ended: ok }),
  );
  expect(openQuestions(state).map(({ id }) => id)).toEqual(['b@1']);
  expect(suspensions(state).map(({ node }) => node)).toEqual(['b', 'c']);
  const about = { at, elapsed_ms: 50, spent: nothingSpent } as const;
  await commit({ ...about, type: 'Stopped', status: 'paused_answer', ended: null, parked: parked('b') });
  expect(suspensions(state).map(({ node }) => node)).toEqual(['b', 'c']);
  await commit(
    { ...about, type: 'Resumed', snapshot: 's-fan', manifest_sha256: 'm0' },
    visitOf('b', { branch: 'b', next_node: 'join', branch_ended: ok }),
  );
  expect(openQuestions(state)).toEqual([]);
  expect(suspensions(state).map(({ node }) => node)).toEqual(['c']);
  expect(cursorOf(state, 'c').cut_ms).toBe(5);
});

test('an interruption keeps for each branch what its cut execution took', async () => {
  const about = { at, elapsed_ms: 50, spent: nothingSpent } as const;
  await commit(fan('a', 'b'));
  await commit({
    ...about,
    type: 'Stopped',
    status: 'interrupted',
    ended: null,
    signal: 'SIGTERM',
    branches: { b: { cut_ms: 12 } },
  });
  expect([cursorOf(state, 'a').cut_ms, cursorOf(state, 'b').cut_ms]).toEqual([undefined, 12]);
});

test('a cancelled branch has an end, and its outcomes count no more', async () => {
  await commit(fan('a', 'b'), visitOf('a', { branch: 'a', outcome: failed('no', 'product') }));
  expect(state.outcomes).toHaveProperty('a');
  await commit({ type: 'BranchStopped', at, branch: 'a', status: 'cancelled', reason: 'decided by b' });
  expect(state.outcomes).not.toHaveProperty('a');
  expect(cursorOf(state, 'a').ended).toEqual({
    ok: false,
    status: 'cancelled',
    reason: 'decided by b',
    class: null,
  });
});

test('a restart in a branch begins anew only what this branch has done', async () => {
  await commit(
    fan('a', 'b'),
    visitOf('a', { branch: 'a', outcome: failed('no', 'product') }),
    visitOf('b', { branch: 'b', outcome: failed('no', 'product') }),
    visitOf('a2', { branch: 'a', next_node: 'a', restart: 1, context: { set: {}, unset: ['a', 'fan'] } }),
  );
  expect(Object.keys(state.outcomes)).toEqual(['fan', 'b']);
  expect(viewOf(state, 'a')).toMatchObject({
    restarts: 1,
    context: { goal: 1 },
    origins: { goal: 'engine' },
  });
  expect(viewOf(state, 'b').restarts).toBeUndefined();
  expect(state.restarts).toBeUndefined();
});

test('the exit that a call has reached becomes its join, and the state of tools comes back', async () => {
  const fork = {
    join: 'call.done',
    call: true as const,
    branches: [{ id: 'call.start', fresh: true as const }],
  };
  await commit(
    visitOf('call', { fork, next_node: 'call.done' }),
    visitOf('call.start', {
      branch: 'call.start',
      tool_state: { plan: 1 },
      next_node: 'call.other',
      branch_ended: ok,
    }),
  );
  expect(state).toMatchObject({ next_node: 'call.other', fork: { join: 'call.other' } });
  await commit(visitOf('call.other', { joined: 'call' }));
  expect(state.tool_state).toEqual({ plan: 1 });
});

const answered = { question: 'gate@1', answer: 'Yes', by: 'me', at, from: 'terminal' } as const;
test.for([
  ['keeps a failure of before that no branch has settled', [], ['f']],
  ['drops a failure that a branch has settled', ['a'], []],
])('the join %s', async ([, settling, expected]) => {
  await commit(
    visitOf('f', { outcome: failed('no', 'product') }),
    fan('a', 'b'),
    ...['a', 'b'].map((id) =>
      visitOf(id, {
        branch: id,
        branch_ended: ok,
        node_type: settling?.includes(id) ? 'tool' : 'conditional',
      }),
    ),
    visitOf('join', { node_type: 'conditional', joined: 'fan' }),
  );
  expect((state.open_failures ?? []).map(({ node }) => node)).toEqual(expected);
});

test('a failure that an answer in a branch has let pass comes back with the join', async () => {
  await commit(
    fan('a', 'b'),
    visitOf('a', { branch: 'a', outcome: failed('no', 'product') }),
    visitOf('gate', {
      branch: 'a',
      node_type: 'wait.human',
      branch_ended: ok,
      answer: { by: 'me', at, from: 'terminal', label: 'Yes', choice: 'join', question_sha256: 'q' },
    }),
    visitOf('b', { branch: 'b', branch_ended: ok }),
    visitOf('join', { joined: 'fan' }),
  );
  expect(state.open_failures).toMatchObject([{ node: 'a', answered }]);
});
