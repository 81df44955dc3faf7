/** A pipeline as a graph to show, before anything has run in it. */
import { regionsOf } from '../../core/branches.ts';
import { listOf } from '../../core/for-each.ts';
import type { Graph, Node } from '../../core/graph.ts';
import { present } from '../../core/settings/types.ts';
import type { GraphView } from './shapes.ts';

/** The view of `graph` with no execution. Nodes and edges keep their order. */
export const pipelineGraph = (graph: Graph): GraphView => ({
  name: graph.settings.label ?? graph.name,
  direction: directionOf(graph),
  nodes: [...graph.nodes.values()].map(nodeOf),
  edges: graph.edges.map(({ from, to, label, conditionText }) => ({
    from,
    to,
    label,
    condition: conditionText,
    taken: 0,
  })),
  regions: [...regionsOf(graph).values()].map(({ node, join, within = null, branches }) => ({
    ...{ node, join, within, list: isList(graph.nodes.get(node)) },
    branches: branches.map(({ id, nodes }) => ({ id, nodes: [...nodes] })),
  })),
});

const isList = (fanOut: Node | undefined): boolean => fanOut !== undefined && listOf(fanOut) !== undefined;

const textOf = ({ attrs }: Node | Graph, key: string): string | undefined => present(attrs, key)?.value.text;

function directionOf(graph: Graph): GraphView['direction'] {
  const word = textOf(graph, 'rankdir')?.trim().toUpperCase();
  return word === 'LR' || word === 'BT' || word === 'RL' ? word : 'TB';
}

const nodeOf = (node: Node): GraphView['nodes'][number] => ({
  id: node.id,
  type: node.type || (textOf(node, 'type') ?? textOf(node, 'shape') ?? 'unknown'),
  label: textOf(node, 'label') ?? node.id,
  ends: node.type !== 'exit' ? null : node.settings.outcome === 'fail' ? 'fail' : 'success',
  state: 'none',
  executions: 0,
  took_ms: 0,
  cost_usd: null,
  calls: 0,
});
