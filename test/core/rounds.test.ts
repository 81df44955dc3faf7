/** Edges with loop_restart: what a new round keeps, what ends it, and what never begins one. */
import { expect, test } from 'vitest';
import { simulate } from '../../src/app/simulate.ts';
import { raisedLimit } from '../../src/core/budget/limits.ts';
import type { StepFacts } from '../../src/core/decision.ts';
import { failed, type Outcome, succeeded } from '../../src/core/outcome.ts';
import type { RunState } from '../../src/core/records/checkpoint.ts';
import { step, suspendedBy } from '../../src/core/step.ts';
import { advanced, freshState, graphOf } from '../support/graph.ts';

const facts = (node: string, type = 'tool'): StepFacts => ({
  ...{ node, type, executable: type === 'tool', feedback: { 'last_failure.node_id': node } },
  at: '2026-01-01T00:00:01.000Z',
});
const no = (updates = {}): Outcome => failed('boom', 'product', { updates });

const pipeline = (edge: string, more = '') =>
  graphOf(`start [shape=Mdiamond]; exit [shape=Msquare]; a [shape=parallelogram, tool_command=x]
    b [shape=parallelogram, tool_command=x]; start -> a -> b; b -> exit [condition="outcome=success"]; ${edge}; ${more}`);
const graph = pipeline(
  'b -> a [condition="outcome=fail", loop_restart=true]',
  'loop_restart_persist_keys="notes, mine"',
);

const before: RunState = freshState('b', {
  context: { 'graph.goal': 'ship', notes: 'n', lost: 1, outcome: 'success', 'internal.x': 1 },
  origins: { 'graph.goal': 'engine', notes: 'agent', lost: 'tool' },
  visits: { a: 3, b: 2 },
  calls: { a: 4 },
  steps: 5,
  outcomes: { a: { status: 'fail', label: '', notes: '', reason: 'x', class: 'product' } },
  alike: { b: { signature: 's', head: 'h', count: 2, visits: [1, 2], step: 4, after: 's' } },
  tool_state: { order: {} },
  node_ms: { a: 5 },
});

test('a new round keeps the keys that the author names, with who set them, and forgets failures and goal gates', () => {
  const taken = step(graph, before, no({ mine: 2, lost: 2 }), facts('b'));
  expect(taken.decision).toEqual({ do: 'run', node: 'a' });
  expect(advanced(before, taken)).toMatchObject({
    context: { 'graph.goal': 'ship', notes: 'n', mine: 2 },
    origins: { 'graph.goal': 'engine', notes: 'agent', mine: 'tool' },
    ...{ restarts: 1, round_step: 6, visits_before: { a: 3, b: 3 } },
    ...{ visits: { a: 3, b: 3 }, calls: { a: 4 }, outcomes: {}, last_failure: null },
    ...{ next_node: 'a', tool_state: { order: {} }, arrived: { from: 'b', conditional: true } },
  });
  const { context, alike, origins } = advanced(before, taken);
  expect(Object.keys(context)).toEqual(['graph.goal', 'notes', 'mine']);
  expect([alike, Object.keys(origins)]).toEqual([undefined, ['graph.goal', 'notes', 'mine']]);
});

test('the commits that a build has recorded stay, as its history does', () => {
  const builds = pipeline(
    'b -> a [condition="outcome=fail", loop_restart=true]',
    'o [shape=parallelogram, tool_command="factory order next"]; a -> o',
  );
  const had = { ...before, context: { 'build.commits': [], lost: 1 } };
  expect(advanced(had, step(builds, had, no(), facts('b'))).context).toEqual({ 'build.commits': [] });
});

test.for<[string, string]>([
  ['without loop_restart', 'b -> a [condition="outcome=fail"]'],
  ['with loop_restart=false', 'b -> a [condition="outcome=fail", loop_restart=false]'],
  ['into an exit', 'b -> exit [condition="outcome=fail", loop_restart=true]'],
])('an edge %s begins no round', ([, edge]) => {
  const taken = step(pipeline(edge), before, no(), facts('b'));
  expect(taken.change.restart).toBeUndefined();
  expect(advanced(before, taken).outcomes).toHaveProperty('b');
});

const outcome = (status: string): readonly Outcome[] =>
  status.split(',').map((word) => (word === 'fail' ? failed('boom', 'product') : succeeded()));
const walked = (text: ReturnType<typeof graphOf>, given: Readonly<Record<string, string>>) => {
  const outcomes = new Map(Object.entries(given).map(([node, words]) => [node, outcome(words)]));
  const { steps, ending } = simulate(text, outcomes, 100);
  return { names: steps.map(({ node, visit }) => `${node.id}@${visit}`).join(' '), ending, steps };
};

test('a run whose restarts are spent fails, and says which edge, how often and what to raise', () => {
  const { names, ending, steps } = walked(pipeline('b -> a [loop_restart=true]', 'max_restarts=2'), {
    b: 'fail',
  });
  expect(names).toBe('start@1 a@1 b@1 a@2 b@2 a@3 b@3');
  expect(steps.map(({ restart }) => restart).filter((one) => one !== undefined)).toEqual([1, 2, 3]);
  expect(ending?.reason).toBe(
    'max_restarts: the edge b -> a would restart the run again, which has restarted 2 times, and its limit is 2 (max_restarts on the graph, --max-restarts)',
  );
  expect(raisedLimit(ending?.reason ?? '')).toBe('--max-restarts 4');
});

test('by default a run restarts five times', () => {
  const { names } = walked(pipeline('b -> a [loop_restart=true]'), { b: 'fail' });
  expect(names.split(' ').at(-1)).toBe('b@6');
});

test('max_visits counts the executions of a round, and their numbers go on', () => {
  const looping = (restart: string) =>
    graphOf(`start [shape=Mdiamond]; exit [shape=Msquare]; a [shape=parallelogram, tool_command=x, max_visits=2]
      start -> a; a -> a [condition="outcome=fail"]; a -> b [condition="outcome=success"]
      b [shape=parallelogram, tool_command=x]; b -> exit [condition="outcome=success"]; b -> a [${restart}]`);
  const given = { a: 'fail,success,fail,success', b: 'fail,success' };
  expect(walked(looping('loop_restart=true'), given).names).toBe('start@1 a@1 a@2 b@1 a@3 a@4 b@2 exit@1');
  expect(walked(looping(''), given).ending?.reason).toMatch(/^max_visits: node "a" ran 2 times, and/);
  expect(walked(looping('loop_restart=true'), { a: 'success,fail', b: 'fail' }).ending?.reason).toMatch(
    /^max_visits: node "a" ran 2 times since restart 1, and/,
  );
});

test('a goal gate of an earlier round does not count, and one of this round does', () => {
  const gated =
    graphOf(`start [shape=Mdiamond]; exit [shape=Msquare]; g [goal_gate=true, shape=parallelogram, tool_command=x]
    c [shape=parallelogram, tool_command=x]; start -> g; g -> c [condition="outcome=fail"]; g -> exit [condition="outcome=success"]
    c -> x [condition="outcome=fail", loop_restart=true]; c -> exit [condition="outcome=success"]
    x [shape=parallelogram, tool_command=x]; x -> exit`);
  expect(walked(gated, { g: 'fail', c: 'fail' }).ending?.ok).toBe(true);
  expect(walked(gated, { g: 'fail' }).ending?.reason).toMatch(/^goal gate g is not satisfied/);
});

test('a failure that restarts the run at a conditional node is not a success there', () => {
  const { ending } = walked(
    graphOf(`start [shape=Mdiamond]; exit [shape=Msquare]; a [shape=parallelogram, tool_command=x]
      d [shape=diamond]; start -> a; a -> d [loop_restart=true]; d -> exit`),
    { a: 'fail' },
  );
  expect(ending?.ok).toBe(false);
});

test.for<[string, string, string, boolean]>([
  ['quota', 'infra', 'outcome=fail', true],
  ['outage', 'infra', 'outcome=fail && context.failure_class=transient_infra', true],
  ['auth', 'config', 'outcome=fail', true],
  ['quota', 'infra', 'failure_class=infra', false],
])(
  'a suspension by %s of a failure of class %s waits before an edge on %s: %s',
  ([kind, of, condition, waits]) => {
    const restarting = pipeline(`b -> a [condition="${condition}", loop_restart=true]`);
    const park = { kind: kind as 'quota' | 'outage' | 'auth' };
    const down = failed('down', of as 'infra' | 'config', { park });
    expect(suspendedBy(restarting, before, down as never, facts('b'), undefined, 8) !== undefined).toBe(
      waits,
    );
  },
);
