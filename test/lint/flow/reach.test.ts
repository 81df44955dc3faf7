/** Compares lint's findings about paths with all possible runs: every outcome, label, suggestion and value passed to the
 *  engine's step function. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { kinds } from '../../../src/app/kinds.ts';
import { simulate } from '../../../src/app/simulate.ts';
import type { Diagnostic, WitnessStep } from '../../../src/core/diagnostic.ts';
import type { Edge, Graph } from '../../../src/core/graph.ts';
import { emptyReport, failed, type Outcome } from '../../../src/core/outcome.ts';
import { wordsNamedAt } from '../../../src/core/own-words.ts';
import type { RunState } from '../../../src/core/records/checkpoint.ts';
import { leaving } from '../../../src/core/routing.ts';
import { typed } from '../../../src/core/settings/typing.ts';
import { simulatedOutcome, simulateLine } from '../../../src/core/simulated-outcome.ts';
import { lint } from '../../../src/lint/index.ts';
import { graphOf } from '../../support/graph.ts';
import { beginning, claimed, follow, typeOf, visit } from './follow.ts';

const runCodes = ['edge-never-taken', 'endless-cycle', 'outcome-uncovered', 'failure-to-success'];
const ofRuns = (graph: Graph): readonly Diagnostic[] => {
  const found = lint(typed(graph, kinds), { toRun: true });
  // Keys that no node sets lead nowhere else here.
  expect(found.filter((d) => d.severity === 'error' && d.code !== 'unset-key')).toEqual([]);
  return found.filter(({ code }) => runCodes.includes(code));
};

const ids = ['a', 'b', 'c', 'd'];
const shapes = {
  tool: 'shape=parallelogram, tool_command=x',
  agent: 'prompt=x',
  verification: 'type=verification, verification.allowed_commands=ls',
  conditional: 'shape=diamond',
} as const;
const ofOutcomes = [
  'outcome=success',
  'outcome=fail',
  'outcome!=success',
  'outcome=retry',
  'outcome=skipped',
  'outcome=partial_success',
  'outcome=success && outcome=fail',
  'outcome=fail || outcome=skipped',
  'failure_class=timeout',
  'outcome=fail && failure_class!=product',
];
const ofWords = [
  'preferred_label=go',
  'outcome=success && preferred_label!=go',
  'x=1',
  'context.x!=1',
  'x=1 && context.x=2',
  'x<3 && x>5',
  'outcome=fail && x>1',
  '!x',
];
const edgeOf = (conditions: readonly string[]) =>
  fc.record({
    from: fc.constantFrom('start', ...ids),
    to: fc.constantFrom('done', 'bad', ...ids),
    condition: fc.option(fc.constantFrom(...conditions), { freq: 3 }),
    label: fc.constantFrom('', '', 'go'),
    weight: fc.constantFrom(0, 0, 0, 1),
  });
const graphs = (
  conditions: readonly string[],
  types: readonly (keyof typeof shapes)[],
): fc.Arbitrary<Graph> =>
  fc
    .record({
      kinds: fc.array(fc.constantFrom(...types), { minLength: 4, maxLength: 4 }),
      flags: fc.array(
        fc.constantFrom('', '', '', 'allow_partial=true', 'goal_gate=true', 'goal_gate=true, retry_target=a'),
        { minLength: 4, maxLength: 4 },
      ),
      edges: fc.array(edgeOf(conditions), { minLength: 4, maxLength: 10 }),
    })
    .map(({ kinds: of, flags, edges }) => {
      // Unreachable nodes are other errors, so each node has an edge from its predecessor.
      const spine = ids.map((id, i) => `${ids[i - 1] ?? 'start'} -> ${id} [weight=-1]`);
      const nodes = ids.map((id, i) => {
        const type = of[i] ?? 'tool';
        const flag = type === 'conditional' ? '' : `, ${flags[i]}`;
        return `${id} [${shapes[type]}${flag === ', ' ? '' : flag}]`;
      });
      const lines = edges.map(
        ({ from, to, condition, label, weight }) =>
          `${from} -> ${to} [weight=${weight}, label="${label}"${condition === null ? '' : `, condition="${condition}"`}]`,
      );
      return graphOf(
        [
          'start [shape=Mdiamond]',
          'done [shape=Msquare]',
          'bad [shape=Msquare, outcome=fail]',
          ...nodes,
          ...spine,
          'd -> done',
          'd -> bad [condition="outcome=fail"]',
          ...lines,
        ].join('\n'),
      );
    });

/** All outcomes of a node type, for the router. */
function outcomes(graph: Graph, id: string): readonly Outcome[] {
  const type = typeOf(graph, id);
  // A conditional passes suggestions on.
  const choosers = [id, ...graph.nodes.keys()].filter(
    (at, i) => i === 0 || typeOf(graph, at) === 'conditional',
  );
  const targets = choosers
    .flatMap((at) => leaving(graph).get(at) ?? [])
    .filter(({ condition }) => condition === undefined)
    .map(({ to }) => to);
  const broken = (['timeout', 'product', 'guardrail'] as const).map((c) => failed('', c, { broke: true }));
  if (type === 'start' || type === 'exit' || type === 'conditional')
    return [{ ...emptyReport, status: 'success' }];
  if (type === 'verification')
    return [{ ...emptyReport, status: 'success' }, failed('', 'product'), failed('', 'guardrail'), ...broken];
  const said = ['', 'go'].flatMap((label) =>
    [[], ...(targets.length > 1 ? targets.map((to) => [to]) : [])].flatMap((suggested) =>
      ['', '1', '7'].map((x) => ({ ...emptyReport, label, suggested, updates: { x } })),
    ),
  );
  return [
    ...broken,
    ...said.flatMap((words): Outcome[] => [
      { ...words, status: 'success' },
      failed('', 'product', words),
      failed('', 'guardrail', words),
      ...(type === 'tool' ? [failed('', 'timeout', words)] : []),
      { ...words, status: 'partial_success' },
      ...(type === 'tool' ? [{ ...words, status: 'skipped' as const }] : []),
    ]),
  ];
}

/** Every edge taken and every node reached by some run. */
function everyRun(graph: Graph): { readonly taken: ReadonlySet<Edge>; readonly stuck: ReadonlySet<string> } {
  const taken = new Set<Edge>();
  const covered = new Set<string>();
  const met = new Set<string>();
  const seen = new Set<string>();
  const open: RunState[] = [beginning(graph)];
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    const id = state.next_node ?? '';
    const { last_outcome: last } = state;
    const gates = Object.entries(state.outcomes).filter(([node]) =>
      graph.nodes.get(node)?.attrs.has('goal_gate'),
    );
    const verdict =
      last === null
        ? []
        : [last.status, last.label, last.suggested, last.status === 'fail' && [last.class, last.broke]];
    const passes = typeOf(graph, id) === 'conditional' || typeOf(graph, id) === 'exit';
    const key = JSON.stringify([
      id,
      passes && verdict,
      state.context['x'],
      passes && state.arrived,
      gates.map(([n, o]) => [n, o.status]),
    ]);
    if (seen.has(key)) continue;
    seen.add(key);
    for (const outcome of outcomes(graph, id)) {
      const { next, state: after, actual } = visit(graph, state, outcome);
      const how = `${id} ${actual.status}${actual.status === 'fail' && actual.broke ? ' broke' : ''}`;
      met.add(how);
      if (next.route?.edge !== undefined) {
        taken.add(next.route.edge);
        covered.add(how);
      }
      if (next.decision.do === 'run') open.push(after);
    }
  }
  return { taken, stuck: new Set([...met].filter((how) => !covered.has(how))) };
}

const flagged = (graph: Graph): ReadonlySet<string> =>
  new Set(
    ofRuns(graph)
      .filter(({ code }) => code === 'edge-never-taken')
      .map(({ place }) => `${place?.span.start.offset}`),
  );
const nameOf = ({ span }: Edge) => `${span.start.offset}`;

test('no run takes an edge that is reported as never taken, with any outcomes, reports and context', () => {
  fc.assert(
    fc.property(
      graphs([...ofOutcomes, ...ofWords], ['tool', 'agent', 'verification', 'conditional']),
      (graph) => {
        const never = flagged(graph);
        const { taken } = everyRun(graph);
        expect([...taken].filter((edge) => never.has(nameOf(edge)))).toEqual([]);
      },
    ),
    { numRuns: 8 },
  );
});

test('if every node reports its outcome itself, every other edge of a reachable node is taken by some run', () => {
  fc.assert(
    fc.property(graphs([...ofOutcomes, ...ofWords], ['tool', 'agent']), (graph) => {
      const never = flagged(graph);
      const { taken } = everyRun(graph);
      const sources = new Set([...taken].map(({ from }) => from));
      const missing = graph.edges.filter(
        (edge) =>
          sources.has(edge.from) && !taken.has(edge) && !never.has(nameOf(edge)) && edge.from !== 'start',
      );
      expect(missing.map(({ from, to, conditionText }) => [from, to, conditionText])).toEqual([]);
    }),
    { numRuns: 8 },
  );
});

/** The route that the command of a finding shows. */
function simulated(graph: Graph, witness: readonly WitnessStep[]): readonly string[] {
  const words = simulateLine('g.dot', witness)
    .split(' ')
    .map((word) => word.replace(/^'(.*)'$/, '$1'));
  const outcomes = new Map(
    words.flatMap((word, at) => {
      if (words[at - 1] !== '--outcome') return [];
      const [node = '', ...items] = word.split(/=(.*)/s).slice(0, 2);
      return [
        [
          node,
          items
            .join('')
            .split(',')
            .map((item) => simulatedOutcome(item, { named: wordsNamedAt(graph, node), gate: false })),
        ] as const,
      ];
    }),
  );
  const read = new Map(
    [...outcomes].map(([node, all]) => [node, all.flatMap((one) => ('outcome' in one ? [one.outcome] : []))]),
  );
  const { steps } = simulate(graph, read, witness.length);
  const last = steps.at(-1);
  const goes = last?.rerouted ?? last?.route?.edge?.to;
  return [...steps.map(({ node }) => node.id), ...(goes === undefined ? [] : [goes])];
}

/** Whether each example run of the graph's findings is one of the engine. Returns how many there are. */
function checkExamples(graph: Graph): number {
  let seen = 0;
  for (const { code, witness, message } of ofRuns(graph)) {
    if (witness === undefined) continue;
    seen++;
    const { route, ending } = follow(graph, witness);
    expect([message, route]).toEqual([message, claimed(witness)]);
    expect([message, simulated(graph, witness)]).toEqual([message, claimed(witness)]);
    if (code === 'failure-to-success') expect([message, ending?.ok]).toEqual([message, true]);
    if (code === 'outcome-uncovered') expect(ending?.reason).toMatch(/^no route from node/);
    if (code === 'endless-cycle') expect(route.slice(0, -1)).toContain(route.at(-1));
  }
  return seen;
}

test('every example run can be made with the engine, and shows the problem of its finding', () => {
  let seen = 0;
  fc.assert(
    fc.property(
      graphs([...ofOutcomes, ...ofWords], ['tool', 'agent', 'verification', 'conditional']),
      (graph) => {
        seen += checkExamples(graph);
      },
    ),
    { numRuns: 40 },
  );
  expect(seen).toBeGreaterThan(20);
});

test.each([
  ['whose condition leads back to it', 'a -> b; b -> b [condition="failure_class=timeout"]; b -> done'],
  [
    'where another condition is taken first',
    'a -> b; b -> done; b -> bad [condition="outcome=fail"]; b -> done [condition="outcome=fail && failure_class!=product"]',
  ],
])('so can those of a node that broke before a conditional node %s', (_, edges) => {
  const graph = graphOf(
    `start [shape=Mdiamond]; done [shape=Msquare]; bad [shape=Msquare, outcome=fail]
     a [${shapes.tool}]; b [${shapes.conditional}]; start -> a; ${edges}; a -> done; a -> bad [condition="outcome=skipped"]`,
  );
  expect(checkExamples(graph)).toBeGreaterThan(0);
});

test('an outcome is reported as uncovered only if no run leaves the node with it', () => {
  fc.assert(
    fc.property(graphs(ofOutcomes, ['tool', 'agent', 'verification', 'conditional']), (graph) => {
      const { stuck } = everyRun(graph);
      for (const { code, witness } of ofRuns(graph)) {
        const last = witness?.at(-1);
        if (code !== 'outcome-uncovered' || last === undefined) continue;
        expect([...stuck]).toContain(`${last.node} ${last.outcome}${last.broke === true ? ' broke' : ''}`);
      }
    }),
    { numRuns: 8 },
  );
});
