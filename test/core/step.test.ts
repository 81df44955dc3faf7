import { describe, expect, test } from 'vitest';
import type { StepFacts } from '../../src/core/decision.ts';
import type { Graph } from '../../src/core/graph.ts';
import { failed, type Outcome, succeeded } from '../../src/core/outcome.ts';
import type { RunState } from '../../src/core/records/checkpoint.ts';
import { step } from '../../src/core/step.ts';
import { advanced, freshState, graphOf } from '../support/graph.ts';

const facts = (node: string, type = 'tool', feedback = {}): StepFacts => ({
  node,
  type,
  executable: type !== 'exit' && type !== 'start',
  feedback,
  at: '2026-01-01T00:00:01.000Z',
});

/** Plays a list of stages from a state. */
function play(
  graph: Graph,
  stages: readonly (readonly [string, string, Outcome])[],
  from: RunState = freshState('start'),
) {
  let state = from;
  let last: ReturnType<typeof step> | undefined;
  for (const [node, type, outcome] of stages) {
    last = step(
      graph,
      state,
      outcome,
      facts(node, type, outcome.status === 'fail' ? { 'last_failure.node_id': node } : {}),
    );
    state = advanced(state, last, type);
  }
  if (last === undefined) throw new Error('no stage played');
  return { ...last, state };
}

const no = failed('boom', 'product');
const yes = succeeded();
const partly: Outcome = { ...yes, status: 'partial_success' };
const gate =
  'g [goal_gate=true]; b; exit [shape=Msquare]; g -> b [condition="outcome=fail"]; g -> exit; b -> exit';
const aimed = (own: string, all: string) =>
  `${all}; c; b -> c; ${gate.replace('goal_gate=true', `goal_gate=true, ${own}`)}`;
const fails = 'a; bad [shape=Msquare, outcome=fail, label="No luck"]; a -> bad [condition="outcome=fail"]';
/** The decision after these nodes, each with its type and outcome. */
const decided = (graph: string, ...nodes: readonly (readonly [string, string, Outcome])[]) =>
  play(graphOf(graph), nodes).decision;
const exit = ['exit', 'exit', yes] as const;

test.for<[string, string, (readonly [string, string, Outcome])[], object]>([
  [
    'an unconditional edge from a failed node into an exit fails the run',
    'a; exit [shape=Msquare]; a -> exit',
    [['a', 'tool', no], exit],
    { ok: false, code: 1, exitNode: 'exit', reason: expect.stringContaining('boom') },
  ],
  [
    'a conditional edge forgives the failure',
    'a; exit [shape=Msquare]; a -> exit [condition="outcome=fail"]',
    [['a', 'tool', no], exit],
    { ok: true, code: 0 },
  ],
  [
    'a diamond passes a failure on, it does not forgive it',
    'a; d [shape=diamond]; exit [shape=Msquare]; a -> d -> exit',
    [['a', 'tool', no], ['d', 'conditional', no], exit],
    { ok: false },
  ],
  [
    'a later node that succeeds is what counts',
    'a; b; exit [shape=Msquare]; a -> b -> exit',
    [['a', 'tool', no], ['b', 'tool', yes], exit],
    { ok: true },
  ],
  [
    'an exit with outcome=fail fails the run and names the cause',
    fails,
    [
      ['a', 'tool', no],
      ['bad', 'exit', yes],
    ],
    { ok: false, code: 1, reason: 'bad (No luck): a: boom' },
  ],
  [
    'an executed gate whose last outcome is no success fails the run at the exit',
    gate,
    [['g', 'codergen', no], ['b', 'tool', yes], exit],
    { ok: false },
  ],
  ['partial success is enough for a gate', gate, [['g', 'codergen', partly], exit], { ok: true }],
  [
    'a gate that was never executed does not block',
    'b; g [goal_gate=true]; exit [shape=Msquare]; b -> exit; b -> g [condition="outcome=fail"]; g -> exit',
    [['b', 'tool', yes], exit],
    { ok: true },
  ],
])('%s', ([, graph, nodes, ending]) => {
  expect(decided(graph, ...nodes)).toMatchObject({ do: 'finish', ending });
});

test.for([
  ['a model API', 'codergen', failed('down', 'infra', { model: 'api', broke: true }), 3],
  ["a model's output", 'codergen', failed('empty', 'agent', { model: 'output', broke: true }), 4],
  ["a tool that judges a model's output", 'tool', failed('not JSON', 'agent'), 4],
  ['a product', 'tool', failed('red', 'product'), 1],
] as const)('the exit code shows whose fault it was: %s', ([, type, outcome, code]) => {
  expect(decided(fails, ['a', type, outcome], ['bad', 'exit', yes])).toMatchObject({ ending: { code } });
});

test.for([
  ['its own', 'retry_target=b, fallback_retry_target=c', 'retry_target=c', 'b'],
  ['its own second one', 'fallback_retry_target=b', 'retry_target=c', 'b'],
  ["the graph's", '', 'retry_target=b; fallback_retry_target=c', 'b'],
  ["the graph's second one", '', 'fallback_retry_target=b', 'b'],
] as const)('an unmet gate sends the run to a retry target: %s', ([, own, all, node]) => {
  const end = decided(aimed(own, all), ['g', 'codergen', no], ['b', 'tool', yes], exit);
  expect(end).toEqual({ do: 'run', node });
});

describe('an unmet gate', () => {
  const next = 'g [goal_gate=true, retry_target=g]; exit [shape=Msquare]; g -> exit';
  const alone =
    'g [goal_gate=true, retry_target=a]; a; exit [shape=Msquare]; a -> g; g -> exit [condition="outcome=success"]';
  const broken = failed('no verdict', 'agent', { broke: true, model: 'output' });
  const again = (times: number, ...nodes: readonly (readonly [string, string, Outcome])[]) =>
    Array.from({ length: times }, () => nodes).flat();

  test.for([
    ['next to the exit that its failure reaches', next, [['g', 'codergen', no], exit], 'g'],
    ['that no edge takes', alone, [['g', 'codergen', no]], 'a'],
    ['that broke with an unconditional edge', next, [['g', 'codergen', broken]], 'g'],
    ['that would retry', alone, [['g', 'codergen', { ...yes, status: 'retry', reason: '' }]], 'a'],
  ] as const)('%s sends the run to its target', ([, graph, nodes, node]) => {
    expect(decided(graph, ...nodes)).toEqual({ do: 'run', node });
  });

  test('does so five times, or as often as the graph says', () => {
    const reason = expect.stringMatching(
      /boom.*\(it has sent the run back 5 times, max_goal_gate_redirects=5\)/,
    );
    const round = [['g', 'codergen', no], exit] as const;
    expect(decided(next, ...again(5, ...round))).toEqual({ do: 'run', node: 'g' });
    expect(decided(`max_goal_gate_redirects=1; ${next}`, ...again(2, ...round))).toMatchObject({
      do: 'finish',
    });
    expect(decided(alone, ...again(6, ['g', 'codergen', no]))).toMatchObject({
      do: 'finish',
      ending: { ok: false, reason },
    });
    expect(decided(next, ...again(5, ...round), ['g', 'codergen', yes], exit)).toMatchObject({
      ending: { ok: true },
    });
  });

  test.for([
    [
      'a cause that every attempt would meet',
      alone,
      [['g', 'codergen', failed('x', 'config', { hopeless: true })]],
    ],
    ['a node that is no gate', alone.replace('goal_gate=true', 'goal_gate=false'), [['g', 'codergen', no]]],
    [
      'an exit that means failure',
      `${next}; bad [shape=Msquare, outcome=fail]`,
      [
        ['g', 'codergen', no],
        ['bad', 'exit', yes],
      ],
    ],
  ] as const)('does not send it back for %s', ([, graph, nodes]) => {
    expect(decided(graph, ...nodes)).toMatchObject({ do: 'finish', ending: { ok: false } });
  });
});

test.for([
  ['internal.node_visit_count<2', 1, {}, 'b'],
  ['context.internal.node_visit_count<2', 2, {}, 'exit'],
  ['internal.node_visit_count=1', 3, { visits_before: { a: 2 } }, 'b'],
  ['internal.loop_restart_count=0', 1, {}, 'b'],
  ['context.internal.loop_restart_count=0', 1, { restarts: 1 }, 'exit'],
] as const)('%s at execution %i after %j leads to %s', ([condition, visit, rounds, node]) => {
  const graph = graphOf(`a; b; exit [shape=Msquare]; a -> b [condition="${condition}"]; a -> exit; b -> a`);
  const before = { ...freshState('a'), visits: { a: visit - 1 }, ...rounds };
  expect(step(graph, before, yes, facts('a')).decision).toEqual({ do: 'run', node });
});

describe('what a tool printed', () => {
  const graph = graphOf(
    'a [shape=parallelogram]; b; more; exit [shape=Msquare]; a -> exit [condition="context.tool_stdout contains done"]; a -> b [condition="tool.output contains again"]; a -> more',
  );
  const printing = (output: string, outcome = yes, before = freshState('a')) =>
    step(graph, before, outcome, { ...facts('a', 'tool'), output });

  test.for([
    ['all done', 'exit'],
    ['again', 'b'],
    ['', 'more'],
  ] as const)('"%s" chooses the edge to %s', ([output, node]) => {
    expect(printing(output).decision).toEqual({ do: 'run', node });
  });

  test('is gone after a tool that printed nothing, and stays after an agent', () => {
    const first = printing('again').change;
    const state = { ...freshState('a'), ...first.now };
    expect(printing('', yes, state).change.now.context).not.toHaveProperty('tool.output');
    const later = step(graph, state, yes, facts('b', 'codergen')).change.now.context;
    expect(later).toMatchObject({ tool_stdout: 'again' });
  });

  test('does not replace what the tool itself has set', () => {
    const outcome = succeeded({ updates: { tool_stdout: 'mine' } });
    expect(printing('again', outcome).change.now.context).toMatchObject({
      tool_stdout: 'mine',
      'tool.output': 'again',
    });
  });
});

describe('what is remembered of a failure', () => {
  const graph = graphOf('a; b; v [type=verification]; a -> b -> v -> a');
  const played = (stages: readonly (readonly [string, string, Outcome])[]) => play(graph, stages).state;
  test('a failed stage fills last_failure', () => {
    expect(played([['a', 'tool', failed('x', 'product')]]).context['last_failure.node_id']).toBe('a');
  });
  test('a later failure replaces all of an earlier one', () => {
    const stage = facts('a', 'codergen', { 'last_failure.hopeless': true });
    const before = freshState('start');
    const { now } = step(graph, before, failed('x', 'config'), stage).change;
    const { state } = play(graph, [['b', 'tool', failed('y', 'product')]], { ...before, ...now });
    expect(state.context).toMatchObject({ 'last_failure.node_id': 'b' });
    expect(state.context['last_failure.hopeless']).toBeUndefined();
  });
  test('a success of another node leaves it, and notes that something has succeeded since', () => {
    const state = played([
      ['a', 'tool', failed('x', 'product')],
      ['b', 'tool', succeeded()],
    ]);
    expect(state.context['last_failure.node_id']).toBe('a');
    expect(state.last_failure?.executable_success_since).toBe(true);
  });
  test('of a partial success it notes nothing, and settles nothing of other nodes', () => {
    const state = played([
      ['a', 'tool', failed('x', 'product')],
      ['b', 'tool', { ...succeeded(), status: 'partial_success' }],
      ['v', 'verification', { ...succeeded(), status: 'partial_success' }],
    ]);
    expect(state.last_failure).toMatchObject({ node: 'a', executable_success_since: false });
  });
  test('a later success of the same node clears it', () => {
    const state = played([
      ['a', 'tool', failed('x', 'product')],
      ['b', 'tool', succeeded()],
      ['a', 'tool', succeeded()],
    ]);
    expect(Object.keys(state.context).filter((key) => key.startsWith('last_failure'))).toEqual([]);
    expect(state.last_failure).toBeNull();
  });
  test('any verification that passes clears it', () => {
    const state = played([
      ['a', 'tool', failed('x', 'product')],
      ['v', 'verification', succeeded()],
    ]);
    expect(state.last_failure).toBeNull();
  });
});

test('no edge: the run fails with the node and its outcome, and a resume visits the node again', () => {
  const end = play(graphOf('a; b; a -> b [condition="outcome=success"]'), [
    ['a', 'tool', failed('x', 'product')],
  ]);
  expect(end.decision).toMatchObject({
    do: 'finish',
    ending: { ok: false, exitNode: null, reason: 'no route from node a for outcome fail: x' },
  });
  expect(end.state.next_node).toBe('a');
});

test('a failure of the configuration ends the run, and a resume visits the node again', () => {
  const edges = 'a -> b [condition="outcome=fail"]; b -> a';
  const end = play(graphOf(`a; b; ${edges}`), [['a', 'tool', failed('x', 'config')]]);
  expect(end.decision).toMatchObject({
    ending: {
      reason:
        'no route from node a for outcome fail: x (class config: only an edge that names failure_class takes it)',
    },
  });
  expect(end.state.next_node).toBe('a');
});

test('how to forgive a failure is said once, however many calls it has come through', () => {
  const forgives = ' (a condition such as outcome=fail on the edge forgives it)';
  const inner = failed(`node c.a failed and reached the exit "c.done": boom${forgives}`, 'product');
  const end = decided('a; exit [shape=Msquare]; a -> exit', ['a', 'subgraph', inner], exit);
  const reason = end.do === 'finish' ? end.ending.reason : '';
  expect(reason).toContain('node c.a failed and reached the exit "c.done": boom');
  expect(reason.split(forgives)).toHaveLength(2);
});

test('a condition that is true by a key that nothing has set forgives no failure', () => {
  const ended = (condition: string) =>
    play(
      graphOf(
        `a [shape=parallelogram, tool_command=x]; done [shape=Msquare]; a -> done [condition="${condition}"]`,
      ),
      [
        ['a', 'tool', failed('x', 'product')],
        ['done', 'exit', succeeded()],
      ],
    ).decision;
  expect(ended('exit_code!=1')).toMatchObject({
    ending: {
      ok: false,
      reason: expect.stringContaining('by a condition on exit_code, which nothing has set'),
    },
  });
  expect(ended('outcome=fail && exit_code!=1')).toMatchObject({ ending: { ok: true } });
});

test('no edge after a limit that reserves for verification: the limit is the reason of the failure', () => {
  const end = play(graphOf('a; b; a -> b [condition="outcome=success"]'), [
    ['a', 'codergen', failed('max_tokens: the run has spent 9 tokens', 'budget')],
  ]);
  expect(end.decision).toMatchObject({
    ending: { ok: false, reason: 'max_tokens: the run has spent 9 tokens' },
  });
});

test('updates are merged, the engine keeps outcome and current_node, and it is known who set what', () => {
  const graph = graphOf('a; b; c; a -> b -> c');
  const { state } = play(graph, [
    ['a', 'tool', succeeded({ updates: { x: 1, y: 'one' } })],
    ['b', 'codergen', succeeded({ updates: { x: 2 } })],
  ]);
  expect(state.context).toMatchObject({ x: 2, y: 'one', outcome: 'success', current_node: 'b' });
  expect(state.origins).toEqual({ x: 'agent', y: 'tool' });
  expect(state).toMatchObject({
    steps: 2,
    visits: { a: 1, b: 1 },
    outcomes: { a: { status: 'success' }, b: { status: 'success' } },
    next_node: 'c',
  });
});
