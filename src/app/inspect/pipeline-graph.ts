/** A pipeline as a graph to show, before anything has run in it. */
import { regionsOf } from '../../core/branches.ts';
import { listOf } from '../../core/for-each.ts';
import { type Graph, graphsIn, type Node, writtenId } from '../../core/graph.ts';
import { present } from '../../core/settings/types.ts';
import { foldsOf } from './folds.ts';
import type { GraphPart, GraphView } from './graph-shapes.ts';

/** The view of `graph` with no execution. Nodes and edges keep their order. */
export const pipelineGraph = (graph: Graph): GraphView => ({
  name: graph.settings.label ?? graph.name,
  direction: directionOf(graph),
  ...graphPart(graph),
  children: calledGraphs(graph).map(({ call, child }) => ({ call, ...graphPart(child) })),
  folds: foldsOf(graph),
});

/** The pipelines that the nodes of `graph` call, and those that these call, each with the id of the node that calls it. */
export const calledGraphs = (graph: Graph): readonly { readonly call: string; readonly child: Graph }[] =>
  [...graphsIn(graph)].flatMap((child) =>
    child.call === undefined ? [] : [{ call: child.call.node.id, child }],
  );

const graphPart = (graph: Graph): GraphPart => ({
  nodes: [...graph.nodes.values()].map((node) => nodeOf(graph, node)),
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

const nodeOf = (graph: Graph, node: Node): GraphView['nodes'][number] => ({
  id: node.id,
  type: node.type || (textOf(node, 'type') ?? textOf(node, 'shape') ?? 'unknown'),
  label: textOf(node, 'label') ?? writtenId(graph, node.id),
  ends: node.type !== 'exit' ? null : node.settings.outcome === 'fail' ? 'fail' : 'success',
  state: 'none',
  executions: 0,
  took_ms: 0,
  cost_usd: null,
  calls: 0,
});
