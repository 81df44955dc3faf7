import fc from 'fast-check';
import { expect, test } from 'vitest';
import { conditionLookup } from '../../src/core/context.ts';
import type { Graph } from '../../src/core/graph.ts';
import { type Context, emptyReport, failed, type Outcome, succeeded } from '../../src/core/outcome.ts';
import { normalLabel } from '../../src/core/own-words.ts';
import { route } from '../../src/core/routing.ts';
import { suspendedBy } from '../../src/core/step.ts';
import { freshState, graphOf } from '../support/graph.ts';

const go = (graph: Graph, outcome: Outcome, context: Context = {}) =>
  route(graph, 'a', outcome, conditionLookup(context, outcome));
const nodes = 'a; b; c; d;';

const behind = (condition: string) =>
  `d [shape=diamond]; a -> d; d -> b [condition="${condition}"]; d -> c [condition="outcome=success"]`;
const hung = failed('hung', 'timeout', { broke: true });

test.for([
  ['outcome=fail && context.failure_class=transient_infra', hung, 'd'],
  ['outcome=fail && context.failure_class!=transient_infra', hung, undefined],
  ['outcome=fail && failure_class!=transient_infra', failed('crashed', 'agent', { broke: true }), 'd'],
  ['failure_class=timeout', hung, 'd'],
  // A success would go the same way: nothing there asks for a failure.
  ['failure_class!=infra', hung, undefined],
  ['!(failure_class=infra)', hung, undefined],
  ['outcome=success || failure_class=timeout', hung, undefined],
  ['outcome!=success && failure_class!=infra', hung, 'd'],
  ['failure_class', hung, 'd'],
  // Nothing there is about what broke.
  ['outcome=fail', hung, undefined],
  ['outcome=fail', failed('no', 'product'), 'd'],
] as const)('behind a conditional node %s decides whether it is reached: %o', ([condition, outcome, to]) => {
  expect(go(graphOf(`${nodes} ${behind(condition)}`), outcome).edge?.to).toBe(to);
});

test('an outage takes no way behind a conditional node: the run is suspended', () => {
  const graph = graphOf(`${nodes} ${behind('outcome=fail && context.failure_class=transient_infra')}`);
  const outcome = failed('down', 'infra', { broke: true, park: { kind: 'outage' } });
  const stage = {
    node: 'a',
    type: 'codergen',
    executable: true,
    feedback: {},
    at: '2026-01-01T00:00:00.000Z',
  };
  expect(suspendedBy(graph, freshState('a'), outcome, stage, undefined, 8)?.status).toBe('paused_outage');
});

const rows: readonly {
  says: string;
  edges: string;
  outcome: Outcome;
  context?: Context;
  to: string | undefined;
  how: string;
}[] = [
  {
    says: 'a condition that is true beats every unconditional edge',
    edges: 'a -> b [weight=9]; a -> c [condition="outcome=success"]',
    outcome: succeeded(),
    to: 'c',
    how: 'condition',
  },
  {
    says: 'among true conditions the highest weight wins',
    edges: 'a -> b [condition="outcome=success"]; a -> c [condition="outcome=success", weight=2]',
    outcome: succeeded(),
    to: 'c',
    how: 'condition',
  },
  {
    says: 'among equal weights the smallest target wins',
    edges: 'a -> c [condition="outcome=success"]; a -> b [condition="outcome=success"]',
    outcome: succeeded(),
    to: 'b',
    how: 'condition',
  },
  {
    says: 'a preferred label chooses an unconditional edge',
    edges: 'a -> b [weight=9]; a -> c [label="[Y] Next One"]',
    outcome: succeeded({ label: ' next one ' }),
    to: 'c',
    how: 'label',
  },
  {
    says: 'a preferred label never chooses a conditional edge',
    edges: 'a -> b; a -> c [label="x", condition="outcome=fail"]',
    outcome: succeeded({ label: 'x' }),
    to: 'b',
    how: 'unconditional',
  },
  {
    says: 'the first suggestion that is an unconditional target counts',
    edges: 'a -> b [weight=9]; a -> c; a -> d',
    outcome: succeeded({ suggested: ['zzz', 'd', 'c'] }),
    to: 'd',
    how: 'suggested',
  },
  {
    says: 'a label beats a suggestion',
    edges: 'a -> b [label="l"]; a -> c',
    outcome: succeeded({ label: 'l', suggested: ['c'] }),
    to: 'b',
    how: 'label',
  },
  {
    says: 'else the heaviest unconditional edge',
    edges: 'a -> b; a -> c [weight=1]',
    outcome: succeeded(),
    to: 'c',
    how: 'unconditional',
  },
  {
    says: 'a reported failure takes an unconditional edge',
    edges: 'a -> b',
    outcome: failed('no', 'product'),
    to: 'b',
    how: 'unconditional',
  },
  {
    says: 'a stage that broke does not',
    edges: 'a -> b',
    outcome: failed('no', 'timeout', { broke: true }),
    to: undefined,
    how: 'none',
  },
  {
    says: 'a stage that broke leaves by a condition that is true',
    edges: 'a -> b; a -> c [condition="failure_class=timeout"]',
    outcome: failed('no', 'timeout', { broke: true }),
    to: 'c',
    how: 'condition',
  },
  {
    says: 'a context key decides',
    edges: 'a -> b; a -> c [condition="context.n > 9"]',
    outcome: succeeded(),
    context: { n: 10 },
    to: 'c',
    how: 'condition',
  },
  {
    says: 'a missing key is the empty string',
    edges: 'a -> b [condition="nothing=\\"\\""]; a -> c',
    outcome: succeeded(),
    to: 'b',
    how: 'condition',
  },
  {
    says: 'no edge fits',
    edges: 'a -> b [condition="outcome=fail"]',
    outcome: succeeded(),
    to: undefined,
    how: 'none',
  },
];
test.for(rows)('the five steps: $says', ({ edges, outcome, context, to, how }) => {
  const found = go(graphOf(`${nodes} ${edges}`), outcome, context);
  expect({ to: found.edge?.to, how: found.how }).toEqual({ to, how });
});

test('every candidate that lost says why, and the winner carries nothing more than its facts', () => {
  const found = go(
    graphOf(`${nodes} a -> c [weight=3]; a -> b [condition="outcome=fail"]; a -> d`),
    succeeded(),
  );
  expect(found.candidates).toEqual([
    { to: 'b', weight: 0, condition: 'outcome=fail', matched: false, lost: 'its condition is false' },
    { to: 'c', weight: 3, condition: '', matched: true },
    { to: 'd', weight: 0, condition: '', matched: true, lost: 'weight 0 is less than 3' },
  ]);
});

test.for([
  ['[Y] Yes, go', 'yes, go'],
  ['Y) Yes', 'yes'],
  ['y - Yes', 'yes'],
  ['  Plain ', 'plain'],
  ['e-mail', 'e-mail'],
])('the label %j counts as %j', ([label, wanted]) => {
  expect(normalLabel(label ?? '')).toBe(wanted);
});

test('a route does not depend on the order in which edges are written', () => {
  const edge = fc.record({
    to: fc.constantFrom('b', 'c', 'd'),
    weight: fc.integer({ min: -2, max: 2 }),
    condition: fc.constantFrom('', 'outcome=success', 'outcome=fail', 'preferred_label=x'),
    label: fc.constantFrom('', 'x', 'y'),
  });
  const outcome: fc.Arbitrary<Outcome> = fc
    .record({
      fail: fc.boolean(),
      broke: fc.boolean(),
      label: fc.constantFrom('', 'x', 'y'),
      suggested: fc.subarray(['b', 'c', 'd']),
    })
    .map(({ fail, broke, label, suggested }) =>
      fail
        ? failed('r', 'product', { broke, label, suggested })
        : { ...emptyReport, status: 'success', label, suggested },
    );
  const text = (edges: readonly { to: string; weight: number; condition: string; label: string }[]) =>
    edges
      .map(
        (e) =>
          `a -> ${e.to} [weight=${e.weight}, label="${e.label}"${e.condition === '' ? '' : `, condition="${e.condition}"`}];`,
      )
      .join('\n');
  fc.assert(
    fc.property(
      fc.uniqueArray(edge, { maxLength: 6, selector: (e) => JSON.stringify(e) }),
      outcome,
      fc.nat(),
      (edges, said, turn) => {
        const turned = edges.map((_, i) => edges[(i + turn) % edges.length]).filter((e) => e !== undefined);
        const one = go(graphOf(`${nodes} ${text(edges)}`), said);
        const other = go(graphOf(`${nodes} ${text(turned.reverse())}`), said);
        expect({ to: other.edge?.to, how: other.how }).toEqual({ to: one.edge?.to, how: one.how });
        expect(one.edge === undefined).toBe(one.how === 'none');
      },
    ),
    { numRuns: 100 },
  );
});
