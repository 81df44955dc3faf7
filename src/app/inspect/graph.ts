/** A pipeline with what a run did in it. */
import { type Graph, nodeOf } from '../../core/graph.ts';
import type { CallRecord, VisitRecord } from '../../core/records/visit.ts';
import { chosenEdge } from './executions.ts';
import { pipelineGraph } from './pipeline-graph.ts';
import type { ExecutionRow, GraphView } from './shapes.ts';

export type GraphFacts = {
  readonly executions: readonly Omit<ExecutionRow, 'group'>[];
  readonly visits: readonly VisitRecord[];
  readonly calls: readonly CallRecord[];
};

export function graphOfRun(graph: Graph, { executions, visits, calls }: GraphFacts): GraphView {
  // Instances of a list are one node.
  const drawn = (id: string): string => nodeOf(graph, id)?.id ?? id;
  const counts = new Map<string, number>();
  for (const { node: id, route, fork } of visits) {
    const node = drawn(id);
    const edge = route === undefined ? undefined : chosenEdge(route);
    if (edge !== undefined) count(counts, JSON.stringify([node, drawn(edge.to), edge.condition]));
    const targets = new Set(fork?.call === true ? [] : fork?.branches.map((branch) => drawn(branch.id)));
    for (const { to, conditionText } of graph.edges.filter(({ from }) => from === node && targets.size > 0))
      if (targets.has(to)) count(counts, JSON.stringify([node, to, conditionText]));
  }
  const asked = new Map<string, number>();
  for (const { type, node } of calls) if (type === 'CallStarted') count(asked, ofPipeline(graph, node));
  const ran = ranIn(graph, executions);
  const { nodes, edges, ...view } = pipelineGraph(graph);
  return {
    ...view,
    nodes: nodes.map((node) => ({ ...node, ...ran.get(node.id), calls: asked.get(node.id) ?? 0 })),
    edges: edges.map((edge) => ({
      ...edge,
      taken: counts.get(JSON.stringify([edge.from, edge.to, edge.condition])) ?? 0,
    })),
  };
}

type NodeView = GraphView['nodes'][number];
type Ran = Pick<NodeView, 'state' | 'executions' | 'took_ms' | 'cost_usd'>;

/** What ran in each node of the drawing: of a list in all instances, of a call in the called pipeline too. */
function ranIn(graph: Graph, rows: GraphFacts['executions']): ReadonlyMap<string, Ran> {
  const ran = new Map<string, Ran>();
  const latest = new Map<string, Map<string, NodeView['state']>>();
  for (const { node: id, state, took_ms, cost_usd } of rows) {
    const node = ofPipeline(graph, id);
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

/** The node of the pipeline itself: `work` for `work.3`, `call` for `call.look` and `call.2.look`. */
function ofPipeline({ nodes }: Graph, id: string): string {
  const parts = id.split('.');
  const ids = parts.map((_, at) => parts.slice(0, parts.length - at).join('.'));
  return ids.find((one) => nodes.has(one)) ?? id;
}

/** The call or its instance: `call.2` for `call.2.look`. */
const callOf = (id: string, node: string): string =>
  `${node}${/^(?:\.\d+)*/.exec(id.slice(node.length))?.[0] ?? ''}`;

/** Of several instances the picture shows the state that a person looks for first. */
const states = [
  ...(['none', 'skipped', 'success', 'partial_success', 'retry'] as const),
  ...(['fail', 'interrupted', 'suspended', 'running'] as const),
] as const satisfies readonly NodeView['state'][];

const worse = (a: NodeView['state'], b: NodeView['state']): NodeView['state'] =>
  states.indexOf(a) < states.indexOf(b) ? b : a;

const count = (counts: Map<string, number>, key: string): void =>
  void counts.set(key, (counts.get(key) ?? 0) + 1);
