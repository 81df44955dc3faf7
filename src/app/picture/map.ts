/** The map of a pipeline: laid out once, drawn in pieces of which the page shows those in view. Loads Graphviz. */
import type { Refusal } from '../../core/diagnostic.ts';
import { mappedInTurns, nextTurn } from '../../platform/turns.ts';
import type { GraphView } from '../inspect/graph-shapes.ts';
import { aboutNode, cardOf, edgeLines, mapCardOf, sizes, type ViewEdge } from './card.ts';
import { type Cluster, flatClusters, nestedBoxes } from './clusters.ts';
import { coordinate, signDefs, svgText } from './frame.ts';
import { clusterGroup, edgeGroup, nodeGroup } from './graph-svg.ts';
import type { GraphLayout } from './layout.ts';
import { longEdges } from './long-edges.ts';
import { around, middleOf, roundBox } from './map-box.ts';
import type { GraphMap, MapBox } from './map-shape.ts';
import { type MapEdge, type MapNode, mapView } from './map-view.ts';
import { colours, foldType, stubType } from './marks.ts';
import { layoutOf, notLaidOut, tooManyNodes } from './render.ts';
import { cardOfNode, type Sketch } from './sketch.ts';
import { cutToWidth, escaped, textWidth } from './text.ts';

type MapSketch = Omit<Sketch, 'nodes' | 'edges'> & {
  readonly nodes: readonly (MapNode & { readonly leads?: string })[];
  readonly edges: readonly MapEdge[];
};

/** The map of a graph with these folds open, or why there is none. */
export async function drawnMap(graph: GraphView, open: ReadonlySet<string>): Promise<GraphMap | Refusal> {
  const refusal = tooManyNodes(graph);
  if (refusal !== undefined) return refusal;
  const sketch = mapSketch(graph, open);
  await nextTurn();
  const layout = await layoutOf(sketch);
  await nextTurn();
  return layout === undefined ? notLaidOut(sketch) : mapOf(sketch, layout);
}

/** What there is room for in the details of a node, after what they begin with. */
const roomFor = ' · ×88 · 88m88s';
const roomForCost = ' · 8.88 USD';
/** What there is room for at the right of an edge's label. */
const roomForCount = ' ×88';

function mapSketch(graph: GraphView, open: ReadonlySet<string>): MapSketch {
  const { name, direction, boxes, ...view } = mapView(graph, open);
  const { nodes, edges } = withStubs(view.nodes, view.edges);
  const cards = nodes.map((node) => {
    const isEnd = node.type === 'start' || node.type === 'exit';
    const card =
      node.leads !== undefined
        ? stubCard(node)
        : isEnd
          ? cardOf(node, true)
          : mapCardOf(node, detailsOf(node));
    return [node.id, card] as const;
  });
  return {
    ...{ name, direction, nodes, edges, signed: true },
    cards: new Map(cards),
    clusters: nestedBoxes(boxes),
    linesOf: (edge) => {
      const lines = edgeLines(edge);
      return lines.map((line, at) => (at === lines.length - 1 ? line + roomForCount : line));
    },
  };
}

/** The longest details that a node may have. */
function detailsOf(node: MapNode): readonly string[] {
  const about = detailsBegin(node);
  const orders = node.type === foldType ? node.of.map((id) => `WO-88, attempt 8, ${id}`) : [];
  return [about, about + roomFor + (node.type === 'codergen' ? roomForCost : ''), ...orders];
}

const detailsBegin = (node: MapNode): string => (node.type === foldType ? '' : aboutNode(node).join(' · '));

/** Long edges end at the name of the node that they lead to. */
function withStubs(nodes: readonly MapNode[], edges: readonly MapEdge[]): Pick<MapSketch, 'nodes' | 'edges'> {
  const long = longEdges(nodes, edges);
  const labels = new Map(nodes.map(({ id, label }) => [id, label]));
  const [first] = nodes;
  if (long.size === 0 || first === undefined) return { nodes, edges };
  const stubs = [...long].map((at) => {
    const to = edges[at]?.to ?? '';
    const label = labels.get(to) ?? to;
    return { ...first, id: `stub ${at}`, type: stubType, label, ends: null, of: [], leads: to };
  });
  return {
    nodes: [...nodes, ...stubs],
    edges: edges.map((edge, at) => (long.has(at) ? { ...edge, to: `stub ${at}` } : edge)),
  };
}

function stubCard({ label }: MapNode) {
  const line = `→ ${cutToWidth(label, 110, sizes.details)}`;
  const text = textWidth(line, sizes.details);
  return { lines: [line], details: '', content: text, text, width: text + 6, height: sizes.line };
}

async function mapOf(sketch: MapSketch, layout: GraphLayout): Promise<GraphMap> {
  const { nodes, edges, clusters } = sketch;
  return {
    schema_version: 1,
    width: layout.width,
    height: layout.height,
    defs: signDefs(),
    nodes: [...(await mappedInTurns(nodes, (node) => nodePiece(node, sketch, layout)))],
    edges: [...(await mappedInTurns(edges, (edge, at) => edgePiece(edge, at, layout)))],
    boxes: flatClusters(clusters).map((cluster) => boxPiece(cluster, layout)),
  };
}

function nodePiece(
  node: MapSketch['nodes'][number],
  sketch: Sketch,
  layout: GraphLayout,
): GraphMap['nodes'][number] {
  const place = layout.nodes.get(node.id);
  const card = cardOfNode(sketch, node.id);
  const [x, y] = place?.at ?? [0, 0];
  const { leads } = node;
  return {
    id: node.id,
    label: node.label,
    of: [...node.of],
    opens: node.opens ?? null,
    leads: leads ?? null,
    about: detailsBegin(node),
    room: card.room ?? 0,
    box: roundBox([x - card.width / 2 - 2, y - card.height / 2 - 2, card.width + 4, card.height + 4]),
    svg:
      leads === undefined
        ? nodeGroup(node, card, place, {
            signed: true,
            problem: false,
            map: true,
            opens: node.opens !== undefined,
          })
        : `<g class="stub" data-leads="${escaped(leads)}">${svgText([x, y + 4], sizes.details, card.lines[0] ?? '', `class="details" text-anchor="middle" fill="${colours.quiet[0]}"`)}</g>`,
  };
}

function edgePiece(edge: MapEdge, at: number, layout: GraphLayout): GraphMap['edges'][number] {
  const place = layout.edges[at];
  const lines = edgeLines(edge);
  const shift = lines.length === 0 ? 0 : textWidth(roomForCount, sizes.edge) / 2;
  return {
    from: edge.from,
    to: edge.to,
    parts: edge.parts.map((part) => ({ ...part })),
    box: edgeBox(edge, place),
    svg: edgeGroup(edge, at, place, { shift, more: [countText(edge, place, shift)] }),
  };
}

type EdgePlace = GraphLayout['edges'][number] | undefined;

/** Empty: the page writes how often the edge was taken. */
function countText(edge: ViewEdge, place: EdgePlace, shift: number): string {
  const lines = edgeLines(edge);
  const last = lines.at(-1);
  const [x, y] = place?.label ?? middleOf(place?.line ?? []);
  const left = last === undefined ? 6 : textWidth(last, sizes.edge) / 2 - shift + 4;
  const down = Math.max(0, lines.length - 1) * 7 + 4;
  const halo = `stroke="${colours.ground[0]}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"`;
  return `<text class="count" x="${coordinate(x + left)}" y="${coordinate(y + down)}" font-size="${sizes.edge}" fill="${colours.ink[0]}" font-weight="700" ${halo}></text>`;
}

function edgeBox(edge: ViewEdge, place: EdgePlace): MapBox {
  const points = [...(place?.line ?? []), ...(place?.arrow ?? [])].flatMap(({ points: all }) => all);
  const label = place?.label;
  const lines = edgeLines(edge);
  const wide = Math.max(...lines.map((line) => textWidth(line, sizes.edge)), 0) / 2 + 30;
  const tall = 8 * lines.length + 4;
  return around([
    ...points,
    ...(label === undefined
      ? []
      : ([
          [label[0] - wide, label[1] - tall],
          [label[0] + wide, label[1] + tall],
        ] as const)),
  ]);
}

function boxPiece(cluster: Cluster, layout: GraphLayout): GraphMap['boxes'][number] {
  const place = layout.clusters.get(cluster.id);
  const [x, y] = place?.corner ?? [0, 0];
  const inner = flatClusters(cluster.inner).flatMap(({ nodes }) => nodes);
  return {
    fold: cluster.kind === 'fold' ? cluster.id.slice('fold-'.length) : null,
    label: cluster.label,
    nodes: [...cluster.nodes, ...inner],
    box: roundBox([x, y, place?.width ?? 0, place?.height ?? 0]),
    svg: clusterGroup(cluster, place),
  };
}
