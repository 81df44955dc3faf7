/** A graph as DOT: what Graphviz lays out for our picture, and what `-o FILE.dot` writes. Written here: a library takes a hundred times
 *  as long for a thousand nodes, in the thread that answers everybody. */
import type { GraphView } from '../inspect/graph-shapes.ts';
import { type Card, isFailureEdge, sizes, type ViewEdge, type ViewNode } from './card.ts';
import type { Cluster } from './clusters.ts';
import { colours, kindLook, outlineOf } from './marks.ts';
import { cardOfNode, type Sketch, sketchOf } from './sketch.ts';
import { escaped } from './text.ts';

const font = 'Helvetica,Arial,sans-serif';
const inches = (points: number): number => Number((points / 72).toFixed(3));
const ownName = /^[A-Za-z_]\w*$/;

/** The name of a node in DOT: its id if that is a plain word. */
const nameOf = (id: string, at: number): string => `"${ownName.test(id) ? id : `node_${at}`}"`;

/** A text of a label: Graphviz reads entities, and a backslash as the beginning of an escape. */
const labelOf = (lines: readonly string[]): string =>
  lines.map((line) => escaped(line).replaceAll('\\', '\\\\')).join('\\n');

type Values = Readonly<Record<string, string | number | boolean | undefined>>;

/** `key = value` for each, in quotes where it is a text. */
const attributes = (values: Values): readonly string[] =>
  Object.entries(values).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [`${key} = ${typeof value === 'string' ? `"${value.replaceAll('"', '\\"')}"` : value}`],
  );

const listed = (name: string, values: Values): string => `${name} [${attributes(values).join(', ')}];`;

/** DOT of the graph. Nodes are in the order of the view and have fixed sizes; the edge at index N has `id="edge-N"`. `plain`: laid out
 *  in a fraction of the time, with straight edges and nodes that are not moved below each other. */
export const graphDot = (view: GraphView, how: { readonly plain?: boolean } = {}): string =>
  sketchDot(sketchOf(view), how);

export function sketchDot(sketch: Sketch, { plain = false }: { readonly plain?: boolean } = {}): string {
  const { name, direction, nodes, edges, clusters } = sketch;
  const names = new Map(nodes.map(({ id }, at) => [id, nameOf(id, at)]));
  const named = (id: string): string => names.get(id) ?? id;
  return `${[
    `digraph "${name.replace(/\W+/gu, '_')}" {`,
    ...attributes({
      // By it a later drawing sees that it may replace this one.
      class: 'factory-picture',
      ...{ rankdir: direction, bgcolor: colours.ground[0], fontname: font, nodesep: 0.3, ranksep: 0.42 },
      ...(plain ? { nslimit: 0.01, splines: 'line' } : {}),
    }).map((line) => `  ${line};`),
    `  ${listed('node', { fontname: font, fontsize: sizes.label, fixedsize: true })}`,
    // Reserves somewhat more room than the smaller letters of the picture take.
    `  ${listed('edge', { fontname: font, fontsize: sizes.edge + 1, arrowsize: 0.75 })}`,
    ...nodes.map((node) => `  ${listed(named(node.id), nodeAttributes(node, cardOfNode(sketch, node.id)))}`),
    ...clusters.flatMap((cluster) => clusterLines(cluster, named, '  ')),
    ...edges.map(
      (edge, at) =>
        `  ${listed(`${named(edge.from)} -> ${named(edge.to)}`, edgeAttributes(edge, at, sketch))}`,
    ),
    '}',
  ].join('\n')}\n`;
}

/** A box around nodes that are there already. */
function clusterLines(cluster: Cluster, named: (id: string) => string, indent: string): readonly string[] {
  const { id, kind, label, nodes, inner } = cluster;
  return [
    `${indent}subgraph "cluster_${id.replace(/\W/g, '_')}" {`,
    ...attributes({
      id: `cluster-${id}`,
      label: labelOf([label]),
      labeljust: 'l',
      fontsize: sizes.edge,
      fontcolor: colours.quiet[0],
      color: colours.line[0],
      style: kind === 'fork' ? 'rounded,dashed' : 'rounded',
      margin: 10,
    }).map((line) => `${indent}  ${line};`),
    ...nodes.map((node) => `${indent}  ${named(node)};`),
    ...inner.flatMap((one) => clusterLines(one, named, `${indent}  `)),
    `${indent}}`,
  ];
}

function nodeAttributes(node: ViewNode, { lines, details, width, height }: Card): Values {
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

function edgeAttributes(edge: ViewEdge, at: number, { signed, linesOf }: Sketch): Values {
  const fails = isFailureEdge(edge);
  const colour = edge.taken > 0 ? colours.ink[0] : colours.line[0];
  const lines = linesOf(edge);
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
