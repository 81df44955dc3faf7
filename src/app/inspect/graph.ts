/** A pipeline with what a run did in it. */
import { type Edge, type Graph, graphsIn, nodeOf, withoutItems } from '../../core/graph.ts';
import type { CallRecord, VisitRecord } from '../../core/records/visit.ts';
import type { ExecutionRow } from './execution-shapes.ts';
import { chosenEdge } from './executions.ts';
import type { GraphPart, GraphView } from './graph-shapes.ts';
import { calledGraphs, pipelineGraph } from './pipeline-graph.ts';

export type GraphFacts = {
  readonly executions: readonly Omit<ExecutionRow, 'group'>[];
  readonly visits: readonly VisitRecord[];
  readonly calls: readonly CallRecord[];
};

export function graphOfRun(graph: Graph, facts: GraphFacts): GraphView {
  const view = pipelineGraph(graph);
  const counts = edgeCounts(graph, facts.visits);
  const called = new Map(calledGraphs(graph).map(({ call, child }) => [call, child]));
  return {
    ...view,
    ...partOfRun(graph, view, facts, counts),
    children: view.children.map((part) => {
      const child = called.get(part.call);
      return child === undefined ? part : { ...part, ...partOfRun(child, part, facts, counts) };
    }),
  };
}

/** The nodes and edges of a graph with what ran in them. */
function partOfRun(
  graph: Graph,
  { nodes, edges }: GraphPart,
  { executions, calls }: GraphFacts,
  counts: ReadonlyMap<string, number>,
): Pick<GraphPart, 'nodes' | 'edges'> {
  const asked = new Map<string, number>();
  for (const { type, node } of calls)
    if (type === 'CallStarted') {
      const drawn = nodeOfGraph(graph, node);
      if (drawn !== undefined) count(asked, drawn);
    }
  const ran = ranIn(graph, executions);
  return {
    nodes: nodes.map((node) => ({ ...node, ...ran.get(node.id), calls: asked.get(node.id) ?? 0 })),
    edges: edges.map((edge) => ({ ...edge, taken: counts.get(edgeKey(edge)) ?? 0 })),
  };
}

const edgeKey = ({ from, to, condition }: Pick<GraphPart['edges'][number], 'from' | 'to' | 'condition'>) =>
  JSON.stringify([from, to, condition]);

/** How often each edge was taken, also those of called pipelines. */
function edgeCounts(graph: Graph, visits: GraphFacts['visits']): ReadonlyMap<string, number> {
  // Instances of a list are one node.
  const drawn = (id: string): string => nodeOf(graph, id)?.id ?? id;
  const leaving = new Map<string, Edge[]>();
  for (const one of graphsIn(graph))
    for (const edge of one.edges) {
      const others = leaving.get(edge.from);
      if (others === undefined) leaving.set(edge.from, [edge]);
      else others.push(edge);
    }
  const counts = new Map<string, number>();
  for (const { node: id, route, fork } of visits) {
    const from = drawn(id);
    const edge = route === undefined ? undefined : chosenEdge(route);
    if (edge !== undefined) count(counts, edgeKey({ from, to: drawn(edge.to), condition: edge.condition }));
    if (fork === undefined || fork.call === true) continue;
    const targets = new Set(fork.branches.map((branch) => drawn(branch.id)));
    for (const { to, conditionText } of leaving.get(from) ?? [])
      if (targets.has(to)) count(counts, edgeKey({ from, to, condition: conditionText }));
  }
  return counts;
}

type NodeView = GraphView['nodes'][number];
type Ran = Pick<NodeView, 'state' | 'executions' | 'took_ms' | 'cost_usd'>;

/** What ran in each node of the drawing: of a list in all instances, of a call in the called pipeline too. */
function ranIn(graph: Graph, rows: GraphFacts['executions']): ReadonlyMap<string, Ran> {
  const ran = new Map<string, Ran>();
  const latest = new Map<string, Map<string, NodeView['state']>>();
  for (const { node: id, state, took_ms, cost_usd } of rows) {
    const node = nodeOfGraph(graph, id);
    if (node === undefined) continue;
    const isCalled = nodeOf(graph, id)?.id !== node;
    const states = latest.get(node) ?? new Map<string, NodeView['state']>();
    // A call stands as what it has called.
    latest.set(node, states.set(isCalled ? callOf(id, node) : id, state));
    const so = ran.get(node) ?? { executions: 0, took_ms: 0, cost_usd: 0 };
    ran.set(node, {
      state: [...states.values()].reduce(worse),
      executions: so.executions + (isCalled ? 0 : 1),
      took_ms: so.took_ms + took_ms,
      cost_usd: cost_usd === null || so.cost_usd === null ? null : so.cost_usd + cost_usd,
    });
  }
  return ran;
}

/** The node of the graph that an execution belongs to: `work` for `work.3`, `call` for `call.look` and `call.2.look`; undefined for one
 *  outside of the graph. */
function nodeOfGraph({ nodes }: Graph, id: string): string | undefined {
  const parts = id.split('.');
  const ids = parts.map((_, at) => parts.slice(0, parts.length - at).join('.'));
  return ids.find((one) => nodes.has(one)) ?? ids.map(withoutItems).find((one) => nodes.has(one));
}

/** The call or its instance: `call.2` for `call.2.look`. */
function callOf(id: string, node: string): string {
  const parts = id.split('.');
  let left = node.split('.').length;
  let end = 0;
  for (; end < parts.length && left > 0; end++) if (!isItem(parts[end])) left--;
  while (end < parts.length && isItem(parts[end])) end++;
  return parts.slice(0, end).join('.');
}

const isItem = (part: string | undefined): boolean => part !== undefined && /^\d+$/.test(part);

/** Of several instances the picture shows the state that a person looks for first. */
const states = [
  ...(['none', 'skipped', 'success', 'partial_success', 'retry'] as const),
  ...(['fail', 'interrupted', 'suspended', 'running'] as const),
] as const satisfies readonly NodeView['state'][];

const worse = (a: NodeView['state'], b: NodeView['state']): NodeView['state'] =>
  states.indexOf(a) < states.indexOf(b) ? b : a;

const count = (counts: Map<string, number>, key: string): void =>
  void counts.set(key, (counts.get(key) ?? 0) + 1);
