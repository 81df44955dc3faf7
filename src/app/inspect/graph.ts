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
  for (const { type, node } of calls) if (type === 'CallStarted') count(asked, drawn(node));
  const latest = new Map(executions.map(({ node, state }) => [node, state]));
  const shown = new Map<string, NodeView['state']>();
  for (const [id, state] of latest) shown.set(drawn(id), worse(shown.get(drawn(id)) ?? state, state));
  const ran = new Map<string, Pick<NodeView, 'state' | 'executions' | 'took_ms' | 'cost_usd'>>();
  for (const { node: id, state, took_ms, cost_usd } of executions) {
    const node = drawn(id);
    const so = ran.get(node) ?? { executions: 0, took_ms: 0, cost_usd: 0 };
    ran.set(node, {
      state: shown.get(node) ?? state,
      executions: so.executions + 1,
      took_ms: so.took_ms + took_ms,
      cost_usd: cost_usd === null || so.cost_usd === null ? null : so.cost_usd + cost_usd,
    });
  }
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

/** Of several instances the picture shows the state that a person looks for first. */
const states = [
  ...(['none', 'skipped', 'success', 'partial_success', 'retry'] as const),
  ...(['fail', 'interrupted', 'suspended', 'running'] as const),
] as const satisfies readonly NodeView['state'][];

const worse = (a: NodeView['state'], b: NodeView['state']): NodeView['state'] =>
  states.indexOf(a) < states.indexOf(b) ? b : a;

const count = (counts: Map<string, number>, key: string): void =>
  void counts.set(key, (counts.get(key) ?? 0) + 1);
