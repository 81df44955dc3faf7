/** Words that a node answers as its outcome: which count, and where they lead. */
import { expect, test } from 'vitest';
import { conditionLookup } from '../../src/core/context.ts';
import { emptyReport, failed } from '../../src/core/outcome.ts';
import { answeredOutcome, wordsOfNode } from '../../src/core/own-words.ts';
import { route } from '../../src/core/routing.ts';
import { graphOf } from '../support/graph.ts';

const graphWith = (edges: string, node = 'shape=parallelogram') =>
  graphOf(`start; a [${node}]; d [shape=diamond]; e [shape=diamond]; x; y; z; start -> a; ${edges}`);

/** What the word means at node `a`, and where it leads. */
function answered(word: string, edges: string, node?: string) {
  const graph = graphWith(edges, node);
  const a = graph.nodes.get('a');
  if (a === undefined) throw new Error('no node a');
  const meant = answeredOutcome(word, wordsOfNode(graph, a));
  if (meant === undefined || meant.outcome === 'fail' || meant.outcome === 'retry') return meant?.outcome;
  const own = meant.label === undefined ? {} : { label: meant.label, ownWord: true as const };
  const outcome = { ...emptyReport, ...own, status: meant.outcome };
  const lookup = conditionLookup({}, outcome);
  let at = 'a';
  for (let type: string | undefined = 'conditional'; type === 'conditional'; type = graph.nodes.get(at)?.type)
    at = route(graph, at, outcome, lookup).edge?.to ?? 'nowhere';
  return at;
}

const both = 'a -> x [condition="outcome=success"]; a -> y [condition="outcome=fail"]';
const named = `${both}; a -> z [condition="outcome=rejected"]`;

test.for([
  // Other words count for nothing.
  ...[
    'rejected',
    'no',
    'blocked',
    'needs_work',
    'timeout',
    'ѕuccess',
    'success!',
    'sucess',
    '',
    'not done',
  ].map((word) => [word, both, undefined] as const),
  ['rejected', 'a -> x', undefined],
  ['other', named, undefined],
  // Their synonyms do.
  ...['success', 'Succeeded', 'pass', 'ok', 'done', 'passed', ' Completed '].map(
    (word) => [word, both, 'x'] as const,
  ),
  ['failed', both, 'fail'],
  // A word that an edge names is taken by that edge, whatever the order.
  ['rejected', named, 'z'],
  ['REJECTED', named, 'z'],
  ['success', named, 'x'],
  ['rejected', 'a -> x [condition="outcome=success", weight=9]; a -> y [condition="outcome=rejected"]', 'y'],
  ['rejected', 'a -> x [condition="outcome!=fail", weight=9]; a -> y [condition="outcome=rejected"]', 'y'],
  ['rejected', 'a -> x [condition="outcome=success"]; a -> y [condition="preferred_label=rejected"]', 'y'],
  [
    'needs_work',
    'a -> x [condition="outcome=success"]; a -> y [condition="preferred_label matches ^needs"]',
    'y',
  ],
  ['rejected', 'a -> x [condition="outcome=success"]; a -> z [label="[R] Rejected"]', 'z'],
  ['rejected', 'a -> x [condition="outcome=success && outcome!=rejected"]; a -> y', 'y'],
  ['done', 'a -> x [condition="outcome=success"]; a -> y [condition="outcome=done"]', 'y'],
  ['ok', 'a -> x [condition="outcome=done"]; a -> y', 'y'],
  // So is one that a conditional node behind it names, also in a chain.
  ['rejected', 'a -> d; d -> x [condition="outcome=success"]; d -> y [condition="outcome=rejected"]', 'y'],
  [
    'rejected',
    'a -> d; d -> e; d -> x [condition="outcome=fail"]; e -> x [condition="outcome=success"]; e -> z [condition="outcome=rejected"]',
    'z',
  ],
  ['rejected', 'a -> x [condition="outcome=success"]; a -> d; d -> y [condition="outcome=rejected"]', 'y'],
  [
    'rejected',
    'a -> x [condition="outcome=success", weight=5]; a -> d [condition="outcome=success"]; d -> y [condition="outcome=rejected"]',
    'y',
  ],
  ['rejected', 'a -> x; x -> y [condition="outcome=rejected"]', undefined],
] as const)('the word "%s" with the edges %s leads to %s', ([word, edges, wanted]) => {
  expect(answered(word, edges)).toBe(wanted);
});

test('at a goal gate words for success are no verdict, and an agent has only the outcomes', () => {
  const agent = 'shape=box, prompt=x, goal_gate=true';
  const tool = 'shape=parallelogram, goal_gate=true';
  for (const word of ['ok', 'done', 'passed', 'completed'])
    for (const node of [agent, tool]) expect(answered(word, both, node)).toBeUndefined();
  expect(answered('rejected', named, agent)).toBeUndefined();
  expect(answered('rejected', named, tool)).toBe('z');
  expect(answered('pass', named, agent)).toBe('x');
});

test('an edge on another key keeps its weight beside the one that names the word', () => {
  const edges = `${named}; a -> y [condition="context.stop=1", weight=3]`;
  const graph = graphWith(edges);
  const outcome = { ...emptyReport, label: 'rejected', ownWord: true, status: 'success' } as const;
  const to = (context: Record<string, string>) =>
    route(graph, 'a', outcome, conditionLookup(context, outcome)).edge?.to;
  expect([to({}), to({ stop: '1' })]).toEqual(['z', 'y']);
});

test('the record of the route says why the edge on success was not taken', () => {
  const outcome = { ...emptyReport, label: 'rejected', ownWord: true, status: 'success' } as const;
  const { candidates } = route(graphWith(named), 'a', outcome, conditionLookup({}, outcome));
  expect(candidates.find(({ to }) => to === 'x')?.lost).toBe('the edge to z names the word "rejected"');
});

const missing = { class: 'config', how: 'evidence', why: 'there is no program x' } as const;
const config = failed('no', 'config', { broke: true });
test.for([
  ['a -> x [condition="outcome=fail"]', config, undefined],
  ['a -> x', failed('no', 'config'), undefined],
  ['a -> x [condition="failure_class=config"]', config, 'x'],
  ['a -> x [condition="outcome=fail && failure_class=deterministic"]', config, 'x'],
  ['a -> x [condition="context.failure_class!=product"]', config, 'x'],
  ['a -> bad [condition="outcome=fail"]; bad [shape=Msquare, outcome=fail]', config, 'bad'],
  ['a -> good [condition="outcome=fail"]; good [shape=Msquare]', config, undefined],
  ['a -> d [condition="outcome=fail"]; d -> x [condition="failure_class=config"]', config, 'd'],
  [
    'a -> d [condition="outcome=fail"]; d -> e; e -> x [condition="failure_class=config"]',
    failed('no', 'config'),
    'd',
  ],
  ['a -> d [condition="outcome=fail"]; d -> x', failed('no', 'config'), undefined],
  ['a -> x [condition="outcome=fail"]', failed('no', 'config', { exitCode: 127 }), 'x'],
  ['a -> x [condition="outcome=fail"]', failed('no', 'config', { attribution: missing, broke: true }), 'x'],
  [
    'a -> x [condition="outcome=fail"]',
    failed('no', 'config', { attribution: { ...missing, how: 'said' } }),
    undefined,
  ],
  ['a -> x', failed('no', 'config', { exitCode: 126 }), 'x'],
  ['a -> x [condition="outcome=fail"]', failed('no', 'config', { exitCode: 1 }), undefined],
  ['a -> x [condition="outcome=fail"]', failed('no', 'agent', { broke: true }), 'x'],
] as const)('by %s a failure %j leads to %s', ([edges, outcome, to]) => {
  const found = route(graphWith(edges), 'a', outcome, conditionLookup({}, outcome));
  expect(found.edge?.to).toBe(to);
});

test('the record of the route names the keys that a condition read and nothing has set', () => {
  const graph = graphWith(
    'a -> x [condition="exit_code!=1"]; a -> y [condition="outcome=fail && last_failure.hopeless=true || context.n=1"]',
  );
  const outcome = failed('no', 'product');
  const { candidates } = route(graph, 'a', outcome, conditionLookup({}, outcome));
  expect(candidates).toMatchObject([
    { to: 'x', matched: true, unset: ['exit_code'] },
    { to: 'y', unset: ['context.n'], lost: 'its condition is false: context.n is not set' },
  ]);
});
