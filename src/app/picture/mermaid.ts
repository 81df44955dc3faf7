/** A graph as a Mermaid flowchart, which GitHub and many editors draw. */
import type { GraphView } from '../inspect/graph-shapes.ts';
import { cardOf, edgeLines, hasRun, isFailureEdge } from './card.ts';
import { type Cluster, clustersOf } from './clusters.ts';
import { colours, kindLook, outlineOf } from './marks.ts';

/** Ids that Mermaid reads as words of its language. */
const reserved =
  /^(?:end|graph|flowchart|subgraph|direction|style|linkstyle|class|classdef|click|call|href|default|[ox])$/i;
const plainId = /^[A-Za-z_][A-Za-z0-9_]*$/;

const characters: Readonly<Record<string, string>> = {
  '"': '#quot;',
  '<': '#lt;',
  '>': '#gt;',
  '&': '#amp;',
  '#': '#35;',
  '`': '#96;',
  '\\': '#92;',
  ';': '#59;',
};

/** Text in quotes; without what Mermaid reads as markup, such as a list in `1. text`. */
const quoted = (lines: readonly string[]): string =>
  `"${lines
    .map((line) =>
      line
        .replace(/["<>&#`\\;]/g, (letter) => characters[letter] ?? letter)
        .replace(/^(\s*)(\d+)\./, '$1$2#46;')
        .replace(/^(\s*)([-*+])(?=\s)/, (_, blanks, sign) => `${blanks}#${String(sign).charCodeAt(0)};`),
    )
    .join('<br/>')}"`;

/** The text of a flowchart; states, the route and edges for failures look as in the other pictures. */
export function mermaid(view: GraphView): string {
  const ran = hasRun(view);
  const names = new Map(
    view.nodes.map(({ id }, at) => [id, plainId.test(id) && !reserved.test(id) ? id : `node_${at}`]),
  );
  const nodes = view.nodes.map((node) => {
    const { lines, details } = cardOf(node, ran);
    const [open, close] = kindLook(node.type).mermaid;
    const state = ran ? `:::${node.state}` : '';
    return `  ${names.get(node.id)}${open}${quoted(details === '' ? lines : [...lines, details])}${close}${state}`;
  });
  const edges = view.edges.map((edge) => {
    const lines = edgeLines(edge);
    const arrow = edge.taken > 0 ? '==>' : isFailureEdge(edge) ? '-.->' : '-->';
    const label = lines.length === 0 ? '' : `|${quoted(lines)}|`;
    return `  ${names.get(edge.from)} ${arrow}${label} ${names.get(edge.to)}`;
  });
  const boxes = clustersOf(view).flatMap((one) => boxLines(one, names, '  '));
  return `${[`flowchart ${view.direction}`, ...nodes, ...boxes, ...edges, ...(ran ? classes(view) : [])].join('\n')}\n`;
}

/** A box around nodes that are there already. */
const boxLines = (
  { id, label, nodes, inner }: Cluster,
  names: ReadonlyMap<string, string>,
  indent: string,
): readonly string[] => [
  `${indent}subgraph ${id.replace(/\W/g, '_')}[${quoted([label])}]`,
  ...nodes.map((node) => `${indent}  ${names.get(node)}`),
  ...inner.flatMap((one) => boxLines(one, names, `${indent}  `)),
  `${indent}end`,
];

const classes = (view: GraphView): readonly string[] =>
  [...new Set(view.nodes.map(({ state }) => state))].map((state) => {
    const { line, paper, width, dashes } = outlineOf(state);
    const dashed = dashes === '' ? '' : `,stroke-dasharray:${dashes}`;
    return `  classDef ${state} fill:${colours[paper][0]},stroke:${colours[line][0]},color:${colours.ink[0]},stroke-width:${width}px${dashed}`;
  });
