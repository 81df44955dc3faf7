/** Maps: what is folded, what is opened, and the pieces that a page draws. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { GraphView } from '../../../src/app/inspect/graph-shapes.ts';
import { pipelineGraph } from '../../../src/app/inspect/pipeline-graph.ts';
import { nestedBoxes } from '../../../src/app/picture/clusters.ts';
import { longEdges } from '../../../src/app/picture/long-edges.ts';
import { drawnMap } from '../../../src/app/picture/map.ts';
import { mapView } from '../../../src/app/picture/map-view.ts';
import { checkPipeline } from '../../../src/app/read-pipeline.ts';

const file = join(import.meta.dirname, '../../../pipelines/compile-and-build.dot');
const { anyGraph } = checkPipeline('compile-and-build.dot', readFileSync(file, 'utf8'));
if (anyGraph === undefined) throw new Error('the bundled pipeline cannot be read');
const build = pipelineGraph(anyGraph);

const node = (id: string, more: Partial<GraphView['nodes'][number]> = {}): GraphView['nodes'][number] => ({
  ...{ id, type: 'tool', label: id, ends: null, state: 'none', executions: 0 },
  ...{ took_ms: 0, cost_usd: null, calls: 0, ...more },
});
const edge = (from: string, to: string, condition = '') => ({ from, to, label: '', condition, taken: 0 });

/** `start → call → done` with a failure to `bad`; the call is of `start → look → done`, or `bad`. */
const calling: GraphView = {
  ...{ name: 'g', direction: 'TB', regions: [] },
  nodes: [
    ...[node('start', { type: 'start' }), node('call', { type: 'subgraph' })],
    ...[node('done', { type: 'exit', ends: 'success' }), node('bad', { type: 'exit', ends: 'fail' })],
  ],
  edges: [
    ...[edge('start', 'call'), edge('call', 'done', 'outcome=success')],
    edge('call', 'bad', 'outcome=fail'),
  ],
  children: [
    {
      ...{ call: 'call', regions: [] },
      nodes: [
        ...[node('call.start', { type: 'start' }), node('call.look')],
        ...[node('call.done', { ends: 'success' }), node('call.bad', { ends: 'fail' })],
      ],
      edges: [edge('call.start', 'call.look'), edge('call.look', 'call.done'), edge('call.look', 'call.bad')],
    },
  ],
  folds: [
    {
      ...{ id: 'call', kind: 'call', label: 'Look', within: null },
      nodes: ['call.start', 'call.look', 'call.done', 'call.bad'],
    },
  ],
};

const edgesOf = (view: GraphView, ...open: string[]): readonly string[] =>
  mapView(view, new Set(open)).edges.map(({ from, to }) => `${from} ${to}`);

test('the loop over the work orders is what lies between its choice and the next one, without proof and scenarios', () => {
  expect(build.folds).toEqual([
    {
      ...{ id: 'next', kind: 'orders', label: 'Work orders', within: null },
      nodes: expect.arrayContaining(['next', 'ask', 'prompt', 'propose', 'verify', 'commit', 'rollback']),
    },
  ]);
  expect(build.folds[0]?.nodes).not.toEqual(expect.arrayContaining(['proof']));
  expect(build.folds[0]?.nodes).not.toEqual(expect.arrayContaining(['mend']));
});

test('a folded loop is one card with one edge to each node around it', () => {
  const { nodes, edges, boxes } = mapView(build, new Set());
  expect(nodes.map(({ id }) => id)).not.toContain('verify');
  expect(nodes.find(({ id }) => id === 'next')).toMatchObject({ label: 'Work orders', opens: 'next' });
  const leaving = edges.filter(({ from }) => from === 'next').map(({ to }) => to);
  expect(leaving.toSorted()).toEqual(['exit_build_failed', 'exit_model_failed', 'proof']);
  expect(edges.find(({ to }) => to === 'exit_build_failed')?.parts.map(({ from }) => from)).toEqual([
    ...['next', 'prompt', 'commit', 'rollback'],
  ]);
  expect(boxes).toEqual([]);
});

test('an open loop has all its nodes in a box', () => {
  const { nodes, boxes } = mapView(build, new Set(['next']));
  expect(nodes.map(({ id }) => id)).toEqual(build.nodes.map(({ id }) => id));
  expect(boxes.map(({ id, nodes: all }) => `${id} ${all.size}`)).toEqual([
    'fork-ask_ahead 1',
    'fold-next 12',
  ]);
});

test('a call is one card; when it is open, its pipeline is entered from it and left by the exit with its outcome', () => {
  expect(edgesOf(calling)).toEqual(['start call', 'call done', 'call bad']);
  expect(edgesOf(calling, 'call')).toEqual([
    ...['start call', 'call.done done', 'call.bad bad', 'call call.start'],
    ...['call.start call.look', 'call.look call.done', 'call.look call.bad'],
  ]);
  // The run's own edge is the one from the call.
  expect(mapView(calling, new Set(['call'])).edges[1]?.parts).toEqual([
    { from: 'call', to: 'done', condition: 'outcome=success' },
  ]);
});

test('a call within branches is opened within their boxes', () => {
  const region = { node: 'start', join: 'done', within: null, list: false };
  const view = { ...calling, regions: [{ ...region, branches: [{ id: 'call', nodes: ['call'] }] }] };
  const [fork] = nestedBoxes(mapView(view, new Set(['call'])).boxes);
  expect(fork).toMatchObject({ id: 'fork-start', inner: [{ id: 'fold-call' }] });
});

test.for<[what: string, boxes: readonly (readonly [string, string])[], expected: readonly string[]]>([
  [
    'boxes next to each other',
    [
      ['a', '12'],
      ['b', '34'],
    ],
    ['a(12)', 'b(34)'],
  ],
  [
    'a box in a box',
    [
      ['a', '1234'],
      ['b', '34'],
    ],
    ['a(12 b(34))'],
  ],
  [
    'a box that shares only some nodes is left out',
    [
      ['a', '123'],
      ['b', '34'],
    ],
    ['a(123)'],
  ],
  [
    'boxes around the same nodes',
    [
      ['a', '12'],
      ['b', '12'],
    ],
    ['a( b(12))'],
  ],
])('%s', ([, given, expected]) => {
  const boxes = given.map(([id, nodes]) => ({ id, kind: 'fork' as const, label: id, nodes: new Set(nodes) }));
  const words = ({ id, nodes, inner }: ReturnType<typeof nestedBoxes>[number]): string =>
    `${id}(${nodes.join('')}${inner.map((one) => ` ${words(one)}`).join('')})`;
  expect(nestedBoxes(boxes).map(words)).toEqual(expected);
});

test('only in a graph that takes long to lay out, long edges are drawn at their beginning', () => {
  const ids = Array.from({ length: 200 }, (_, at) => `n${at}`);
  const nodes = [...ids, 'bad'].map((id) => ({ id }));
  const chain = ids.slice(1).map((id, at) => edge(`n${at}`, id));
  expect(longEdges(nodes, [...chain, edge('n0', 'n100')]).size).toBe(0);
  const all = [...chain, ...ids.map((id) => edge(id, 'bad'))];
  const long = longEdges(nodes, all);
  // Those of the first ones are short: the exit stands next to them.
  expect(long.size).toBeGreaterThan(150);
  expect([...long].every((at) => all[at]?.to === 'bad')).toBe(true);
});

test('a map has a piece with a place for each node, edge and box, and no state', async () => {
  const map = await drawnMap(build, new Set(['next']));
  if ('problems' in map) throw new Error(map.problems[0]?.message);
  expect(map.nodes.map(({ id }) => id)).toEqual(build.nodes.map(({ id }) => id));
  expect(map.edges).toHaveLength(build.edges.length);
  expect(map.boxes.map(({ fold }) => fold)).toEqual(['next', null]);
  for (const { box, svg } of [...map.nodes, ...map.edges, ...map.boxes]) {
    expect(box.every(Number.isFinite)).toBe(true);
    expect(svg).not.toMatch(/<title|<style|<script|style=|\bon\w+=|NaN/);
  }
  const folded = await drawnMap(build, new Set());
  if ('problems' in folded) throw new Error(folded.problems[0]?.message);
  expect(folded.nodes.length).toBeLessThan(map.nodes.length);
  expect(folded.height).toBeLessThan(map.height);
});

test('a graph of more than 5,000 nodes has no map', async () => {
  const many = Array.from({ length: 5001 }, (_, at) => node(`n${at}`));
  expect(await drawnMap({ ...calling, nodes: many }, new Set())).toMatchObject({
    problems: [{ code: 'graph-too-large' }],
  });
});
