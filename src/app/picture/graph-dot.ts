/** A graph as DOT: what Graphviz lays out for our picture, and what `-o FILE.dot` writes. */
import {
  Digraph,
  type EdgeAttributesObject,
  type NodeAttributesObject,
  type SubgraphModel,
  toDot,
} from 'ts-graphviz';
import type { GraphView } from '../inspect/shapes.ts';
import {
  type Card,
  cardOf,
  edgeLines,
  hasRun,
  isFailureEdge,
  sizes,
  type ViewEdge,
  type ViewNode,
} from './card.ts';
import { type Cluster, clustersOf } from './clusters.ts';
import { colours, kindLook, outlineOf } from './marks.ts';
import { escaped } from './text.ts';

const font = 'Helvetica,Arial,sans-serif';
const inches = (points: number): number => Number((points / 72).toFixed(3));
const ownName = /^[A-Za-z_]\w*$/;

/** The name of a node in DOT: its id if that is a plain word. */
const nameOf = (id: string, at: number): string => (ownName.test(id) ? id : `node_${at}`);

/** A text of a label: Graphviz reads entities, and a backslash as the beginning of an escape. */
const labelOf = (lines: readonly string[]): string =>
  lines.map((line) => escaped(line).replaceAll('\\', '\\\\')).join('\\n');

/** DOT of the graph. Nodes are in the order of the view and have fixed sizes; the edge at index N has `id="edge-N"`. `plain`: laid out
 *  in a fraction of the time, with straight edges and nodes that are not moved below each other. */
export function graphDot(view: GraphView, { plain = false } = {}): string {
  const signed = hasRun(view);
  const dot = new Digraph(view.name.replace(/\W+/gu, '_'), {
    // By it a later drawing sees that it may replace this one.
    class: 'factory-picture',
    rankdir: view.direction,
    bgcolor: colours.ground[0],
    fontname: font,
    nodesep: 0.3,
    ranksep: 0.42,
    ...(plain ? { nslimit: 0.01, splines: 'line' } : {}),
  });
  dot.attributes.node.apply({ fontname: font, fontsize: sizes.label, fixedsize: true });
  // Reserves somewhat more room than the smaller letters of the picture take.
  dot.attributes.edge.apply({ fontname: font, fontsize: sizes.edge + 1, arrowsize: 0.75 });
  const names = new Map(view.nodes.map(({ id }, at) => [id, nameOf(id, at)]));
  for (const node of view.nodes)
    dot.createNode(names.get(node.id) ?? node.id, nodeAttributes(node, cardOf(node, signed)));
  for (const cluster of clustersOf(view)) addCluster(dot, cluster, names);
  view.edges.forEach((edge, at) => {
    const ends = [names.get(edge.from) ?? edge.from, names.get(edge.to) ?? edge.to] as const;
    dot.createEdge([...ends], edgeAttributes(edge, at, signed));
  });
  // By default it refuses graphs of 2,000 nodes and more.
  return `${toDot(dot, { convert: { maxASTNodes: 0 } })}\n`;
}

/** A box around nodes that are there already. */
function addCluster(
  graph: Pick<SubgraphModel, 'createSubgraph'>,
  cluster: Cluster,
  names: ReadonlyMap<string, string>,
): void {
  const { id, kind, label, nodes, inner } = cluster;
  const box = graph.createSubgraph(`cluster_${id.replace(/\W/g, '_')}`, {
    id: `cluster-${id}`,
    label: labelOf([label]),
    labeljust: 'l',
    fontsize: sizes.edge,
    fontcolor: colours.quiet[0],
    color: colours.line[0],
    style: kind === 'fork' ? 'rounded,dashed' : 'rounded',
    margin: 10,
  });
  for (const node of nodes) box.createNode(names.get(node) ?? node);
  for (const one of inner) addCluster(box, one, names);
}

function nodeAttributes(node: ViewNode, { lines, details, width, height }: Card): NodeAttributesObject {
  const { line, paper, width: penwidth, dashes } = outlineOf(node.state);
  const { style: own, ...shape } = kindLook(node.type).dot;
  const drawn = dashes === '' ? 'solid' : 'dashed';
  return {
    ...shape,
    id: `node-${node.id}`,
    label: labelOf(details === '' ? lines : [...lines, details]),
    style: own === undefined ? `filled,${drawn}` : `filled,${own},${drawn}`,
    color: colours[line][0],
    fillcolor: colours[paper][0],
    penwidth,
    width: inches(width),
    height: inches(height),
  };
}

function edgeAttributes(edge: ViewEdge, at: number, signed: boolean): EdgeAttributesObject {
  const fails = isFailureEdge(edge);
  const colour = edge.taken > 0 ? colours.ink[0] : colours.line[0];
  const lines = edgeLines(edge);
  return {
    id: `edge-${at}`,
    // The blanks keep the text away from the line.
    ...(lines.length === 0
      ? {}
      : { label: labelOf(lines.map((line) => `  ${line}  `)), fontcolor: colours.quiet[0] }),
    color: colour,
    ...(signed ? { penwidth: edge.taken > 0 ? 2.5 : 1 } : {}),
    ...(fails ? { style: 'dashed' } : {}),
    // Keeps the usual way straight.
    weight: fails ? 1 : 4,
  };
}
