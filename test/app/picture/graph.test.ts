/** Pictures of graphs: as DOT, SVG, PNG and Mermaid. */
import { expect, test } from 'vitest';
import type { GraphView } from '../../../src/app/inspect/graph-shapes.ts';
import { pipelineGraph } from '../../../src/app/inspect/pipeline-graph.ts';
import { graphDot } from '../../../src/app/picture/graph-dot.ts';
import { mermaid } from '../../../src/app/picture/mermaid.ts';
import { pngOf } from '../../../src/app/picture/png.ts';
import { problemNodes } from '../../../src/app/picture/problem-nodes.ts';
import { drawnGraph } from '../../../src/app/picture/render.ts';
import { checkPipeline } from '../../../src/app/read-pipeline.ts';

const text = `digraph g { label="A \\"first\\" <try> & more"; rankdir=LR
  start [shape=Mdiamond]
  build [shape=parallelogram, label="1. Build \`it\`", tool_command="make"]
  end [type=codergen, label="Ask; then <wait>", prompt=x]
  gate [shape=doublecircle, label="Approve?"]
  done [shape=Msquare] broken [shape=Msquare, outcome=fail]
  start -> build
  build -> end [condition="outcome=success"] build -> broken [condition="outcome=fail"]
  end -> gate -> done
}`;
const { anyGraph, found } = checkPipeline('g.dot', text);
if (anyGraph === undefined) throw new Error('the test pipeline cannot be read');
const plain = pipelineGraph(anyGraph);

const states = ['success', 'fail', 'running', 'partial_success', 'none', 'interrupted'] as const;
/** The same after a run. */
const ran: GraphView = {
  ...plain,
  nodes: plain.nodes.map((node, at) => {
    const state = states[at] ?? 'none';
    const executions = state === 'none' ? 0 : 1 + at;
    return {
      ...node,
      state,
      executions,
      took_ms: executions * 1500,
      calls: at === 2 ? 1 : 0,
      cost_usd: at === 2 ? 0.02 : null,
    };
  }),
  edges: plain.edges.map((edge, at) => ({ ...edge, taken: 3 - at })),
};

async function svgOf(...asked: Parameters<typeof drawnGraph>): Promise<string> {
  const svg = await drawnGraph(...asked);
  if (typeof svg !== 'string') throw new Error(`no picture: ${svg.problems[0]?.message}`);
  return svg;
}

/** A chain of tools, each with an edge to the next one and, with `shared`, to one exit for failures. */
function chainView(count: number, shared: boolean): GraphView {
  const [node] = plain.nodes;
  if (node === undefined) throw new Error('the test pipeline has no nodes');
  const ids = Array.from({ length: count }, (_, at) => `n${at}`);
  const edge = (from: string, to: string) => ({ from, to, label: '', condition: '', taken: 0 });
  return {
    ...{ name: 'chain', direction: 'TB', regions: [], children: [], folds: [] },
    nodes: [...ids, 'failed'].map((id) => ({ ...node, id, label: id, type: 'tool' })),
    edges: [
      ...ids.slice(1).map((id, at) => edge(`n${at}`, id)),
      ...ids.filter((_, at) => shared || at === count - 1).map((id) => edge(id, 'failed')),
    ],
  };
}

test.each([
  ['a long row', chainView(60, false)],
  ['one exit for the failures of a hundred nodes', chainView(100, true)],
])('%s is laid out in another thread, once for all who ask for it', async (_, view) => {
  const [svg, again] = await Promise.all([svgOf(view), svgOf(structuredClone(view))]);
  expect(again).toBe(svg);
  expect(unclosed(svg)).toEqual([]);
  expect(svg.match(/data-node=/g)).toHaveLength(view.nodes.length);
  expect(svg.match(/data-edge=/g)).toHaveLength(view.edges.length);
});

test('a graph of more than 5,000 nodes has no picture but a sentence, and still has its other forms', async () => {
  const view = chainView(5000, true);
  expect(await drawnGraph(view)).toMatchObject({
    problems: [
      {
        code: 'graph-too-large',
        message: 'the graph has 5001 nodes, and a picture has at most 5000',
        fix: 'factory graph writes it as text for other programs: --format dot or --format mermaid',
      },
    ],
  });
  expect(graphDot(view).match(/id = "edge-/g)).toHaveLength(view.edges.length);
  expect(mermaid(view).split('\n').length).toBeGreaterThan(view.edges.length + view.nodes.length);
});

/** Names of opened elements that are not closed in order. */
function unclosed(xml: string): readonly string[] {
  const open: string[] = [];
  for (const [, close, name = '', self] of xml.matchAll(/<(\/?)([\w:]+)(?:\s+[\w:-]+="[^"<]*")*\s*(\/?)>/g))
    if (close === '/') {
      if (open.pop() !== name) return [name];
    } else if (self === '') open.push(name);
  return open;
}

test('a pipeline is drawn as well-formed SVG with every node, every edge and escaped labels', async () => {
  const svg = await svgOf(plain, { heading: ['A title'] });
  expect(unclosed(svg)).toEqual([]);
  expect(svg.replace(/<[^>]*>/g, '')).not.toMatch(/[<>]|&(?!\w+;)/);
  for (const { id } of plain.nodes) expect(svg).toContain(`data-node="${id}"`);
  for (const { from, to } of plain.edges) expect(svg).toContain(`data-from="${from}" data-to="${to}"`);
  expect(svg).toContain('Ask; then &lt;wait&gt;');
  expect(svg).toContain('gate · doublecircle');
  expect(svg).not.toContain('class="edge taken');
});

test('the picture of a run shows states by class and sign, counts, times, costs and the route', async () => {
  const svg = await svgOf(ran, { marked: new Set(['gate']) });
  expect(unclosed(svg)).toEqual([]);
  expect(svg).toMatch(/class="node kind-tool fail" data-node="build" data-state="fail".*href="#sign-fail"/s);
  expect(svg).toContain('end · ×3 · 4.5s · 0.02 USD');
  expect(svg).toMatch(/class="node kind-doublecircle partial_success problem".*href="#sign-problem"/s);
  expect(svg).toMatch(/class="edge taken" data-edge="0" data-from="start".*stroke-width="2.5".*>×3</s);
});

test('a picture for a page has no style, no script and nothing from elsewhere', async () => {
  const svg = await svgOf(ran, { inline: true });
  expect(svg).not.toMatch(/<style|style=|<script|\bon\w+=|url\(|href="(?!#)/);
});

test.skipIf(pngOf('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>') === undefined)(
  'PNG files are twice as large as the SVG',
  async () => {
    const svg = await svgOf(plain);
    const png = Buffer.from(pngOf(svg) ?? []);
    expect(png.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
    const width = Number(/width="([\d.]+)"/.exec(svg)?.[1]);
    expect(Math.abs(png.readUInt32BE(16) - 2 * width)).toBeLessThanOrEqual(2);
  },
);

test('the DOT text keeps labels of any kind, and can be read as a graph with the same edges', () => {
  const dot = graphDot(plain);
  expect(dot).toContain('label = "Ask; then &lt;wait&gt;\\nend"');
  const again = checkPipeline('again.dot', dot).anyGraph;
  expect(again?.edges.map(({ from, to }) => [from, to])).toEqual(
    plain.edges.map(({ from, to }) => [from, to]),
  );
});

test('the Mermaid text avoids reserved words and markup', () => {
  expect(mermaid(ran)).toMatchInlineSnapshot(`
    "flowchart LR
      start(["start"]):::success
      build[/"1#46; Build #96;it#96;<br/>build · ×2 · 3.0s"/]:::fail
      node_2("Ask#59; then #lt;wait#gt;<br/>end · ×3 · 4.5s · 0.02 USD"):::running
      gate["Approve?<br/>gate · doublecircle · ×4 · 6.0s"]:::partial_success
      done[["done"]]:::none
      broken[["broken<br/>×6"]]:::interrupted
      start ==>|"×3"| build
      build ==>|"✓<br/>×2"| node_2
      build ==>|"✗"| broken
      node_2 --> gate
      gate --> done
      classDef success fill:#e6f6ea,stroke:#1a7f37,color:#1f2328,stroke-width:1.5px
      classDef fail fill:#ffe9e7,stroke:#c01c28,color:#1f2328,stroke-width:3px
      classDef running fill:#dcefff,stroke:#0a5fc4,color:#1f2328,stroke-width:3px,stroke-dasharray:12 3 3 3
      classDef partial_success fill:#fff8d6,stroke:#8a6100,color:#1f2328,stroke-width:1.75px,stroke-dasharray:9 3
      classDef none fill:#ffffff,stroke:#8c959f,color:#1f2328,stroke-width:1px
      classDef interrupted fill:#f1f3f5,stroke:#57606a,color:#1f2328,stroke-width:1.5px,stroke-dasharray:6 4
    "
  `);
});

test('an error marks the node that has it, and the node that a bad edge leaves', () => {
  expect([...problemNodes(anyGraph, found)]).toEqual(['gate']);
  const bad = checkPipeline('b.dot', text.replace('condition="outcome=fail"', 'condition="outcome="'));
  expect([...problemNodes(bad.anyGraph ?? anyGraph, bad.found)]).toEqual(['gate', 'build']);
});

test('branches are drawn in a box, one of several nodes in one of its own', async () => {
  const branches = [
    { id: 'build', nodes: ['build'] },
    { id: 'end', nodes: ['end', 'gate'] },
  ];
  const view = { ...plain, regions: [{ node: 'start', join: 'done', within: null, list: false, branches }] };
  const svg = await svgOf(view);
  expect(unclosed(svg)).toEqual([]);
  expect(svg).toMatch(/class="cluster fork" data-cluster="fork-start"><rect .*>start: 2 branches</);
  expect(svg).toMatch(/class="cluster branch" data-cluster="branch-end"><rect .*>end</);
  for (const { id } of plain.nodes) expect(svg).toContain(`data-node="${id}"`);
  expect(mermaid(view)).toContain(
    [
      '  subgraph fork_start["start: 2 branches"]',
      '    build',
      '    subgraph branch_end["end"]',
      '      node_2',
      '      gate',
      '    end',
      '  end',
    ].join('\n'),
  );
  // A reader of the file has the same graph.
  expect(checkPipeline('again.dot', graphDot(view)).anyGraph?.nodes.size).toBe(plain.nodes.length);
});
