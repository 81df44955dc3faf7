/** Draws a laid-out graph as SVG. Colours, lines and signs are presentation attributes, so that a strict content-security
 *  policy allows them inline; rules of `stylesheet` for the same classes take precedence. */
import type { GraphView } from '../inspect/graph-shapes.ts';
import { lookOf } from '../inspect/states.ts';
import {
  type Card,
  edgeLines,
  edgeTitle,
  isCount,
  isFailureEdge,
  nodeTitle,
  sizes,
  textHeight,
  type ViewEdge,
  type ViewNode,
} from './card.ts';
import { type Cluster, flatClusters } from './clusters.ts';
import {
  coordinate,
  framed,
  type LegendEntry,
  lineMark,
  type Picture,
  sign,
  svgText as text,
} from './frame.ts';
import type { GraphLayout, PicturePoint, Stroke } from './layout.ts';
import { closeIcon, colours, edgeMarks, failureIcon, kindLook, openIcon, outlineOf } from './marks.ts';
import { cardOfNode, sketchOf } from './sketch.ts';
import { escaped } from './text.ts';

export type GraphPicture = Picture & {
  /** Nodes with findings: they are marked. */
  readonly marked?: ReadonlySet<string>;
};

/** An SVG text. Each node is a group with `data-node`, `data-state` and its state as a class; each edge has `data-from`,
 *  `data-to` and `data-edge`, its index. The sign of a node is `<use class="sign" href="#sign-STATE">`. */
export function graphSvg(view: GraphView, layout: GraphLayout, picture: GraphPicture = {}): string {
  const { marked = new Set<string>() } = picture;
  const sketch = sketchOf(view);
  const { signed } = sketch;
  const edges = view.edges.map((edge, at) => edgeGroup(edge, at, layout.edges[at]));
  const nodes = view.nodes.map((node) =>
    nodeGroup(node, cardOfNode(sketch, node.id), layout.nodes.get(node.id), {
      signed,
      problem: marked.has(node.id),
    }),
  );
  const boxes = flatClusters(sketch.clusters).map((one) => clusterGroup(one, layout.clusters.get(one.id)));
  return framed({
    ...picture,
    name: `Graph of ${view.name}`,
    width: layout.width,
    height: layout.height,
    content: ['<g class="graph">', ...boxes, ...edges, ...nodes, '</g>'],
    legend: legendOf(view, marked.size > 0),
  });
}

/** The element of a stroke; `attributes` are those of all of them. */
function element({ kind, points, filled }: Stroke, attributes: string): string {
  const fill = filled ? '' : ' fill="none"';
  const pair = ([x, y]: PicturePoint) => `${coordinate(x)},${coordinate(y)}`;
  const [first = [0, 0], second = [0, 0]] = points;
  switch (kind) {
    case 'ellipse':
      return `<ellipse cx="${coordinate(first[0])}" cy="${coordinate(first[1])}" rx="${coordinate(second[0])}" ry="${coordinate(second[1])}" ${attributes}${fill}/>`;
    case 'curve':
      return `<path d="M${pair(first)}C${points.slice(1).map(pair).join(' ')}" ${attributes}${fill}/>`;
    default:
      return `<${kind === 'polygon' ? 'polygon' : 'polyline'} points="${points.map(pair).join(' ')}" ${attributes}${fill}/>`;
  }
}

type PlaceOf<M> = M extends ReadonlyMap<string, infer P> ? P : never;

/** The box around branches, or around one branch. */
export function clusterGroup(
  { id, kind, label }: Cluster,
  place: PlaceOf<GraphLayout['clusters']> | undefined,
): string {
  if (place === undefined) throw new Error(`Internal: no place for the box ${id}`);
  const { corner, width, height, label: middle } = place;
  const dashes = kind === 'fork' ? ' stroke-dasharray="4 3"' : '';
  const [x, y] = [corner[0] + 10, middle[1] + 3.5];
  const icon = kind === 'fold' ? iconAt(closeIcon, [x - 4, y - 12], colours.quiet[0]) : '';
  return [
    `<g class="cluster ${kind}" data-cluster="${escaped(id)}">`,
    `<rect class="box" x="${coordinate(corner[0])}" y="${coordinate(corner[1])}" width="${coordinate(width)}" height="${coordinate(height)}" rx="8" fill="none" stroke="${colours.line[0]}"${dashes}/>`,
    icon,
    text([icon === '' ? x : x + 18, y], sizes.edge, label, `class="details" fill="${colours.quiet[0]}"`),
    '</g>',
  ].join('');
}

const iconAt = (icon: string, [x, y]: PicturePoint, colour: string): string =>
  `<svg class="icon" x="${coordinate(x)}" y="${coordinate(y)}" width="16" height="16" viewBox="0 0 16 16" color="${colour}">${icon}</svg>`;

type Marking = {
  readonly signed: boolean;
  readonly problem: boolean;
  readonly map?: true;
  readonly opens?: boolean;
};

export function nodeGroup(
  node: ViewNode,
  card: Card,
  place: PlaceOf<GraphLayout['nodes']> | undefined,
  { signed, problem, map, opens = false }: Marking,
): string {
  if (place === undefined) throw new Error(`Internal: no place for node ${node.id}`);
  const { line, paper, width, dashes } = outlineOf(node.state);
  const fails = node.ends === 'fail';
  const icon = opens ? openIcon : fails ? failureIcon : kindLook(node.type).icon;
  const stroke = `stroke="${colours[line][0]}" stroke-width="${width}"${dashes === '' ? '' : ` stroke-dasharray="${dashes}"`}`;
  const [x, y] = place.at;
  const left = x - card.content / 2;
  const quiet = node.state === 'none' && signed;
  const classes = [
    'node',
    `kind-${node.type}`,
    node.state,
    ...(fails && !quiet ? ['ends-fail'] : []),
    ...(problem ? ['problem'] : []),
  ];
  return [
    `<g id="node-${escaped(node.id)}" class="${escaped(classes.join(' '))}" data-node="${escaped(node.id)}" data-state="${node.state}">`,
    map === true ? '' : `<title>${escaped(nodeTitle(node))}</title>`,
    ...place.outline.map((one, at) =>
      at === 0
        ? element({ ...one, filled: true }, `class="outline" fill="${colours[paper][0]}" ${stroke}`)
        : element(one, `class="outline inner" ${stroke}`),
    ),
    iconAt(icon, [left, y - 8], colours[fails && !quiet ? 'fail' : 'quiet'][0]),
    ...textsOf(card, [left + sizes.icon + sizes.gap, y], quiet ? 'quiet' : 'ink'),
    ...(signed ? [sign(node.state, [left + card.content - sizes.icon, y - 8])] : []),
    ...(problem ? [sign('problem', [x + card.width / 2 - 11, y - card.height / 2 - 7])] : []),
    '</g>',
  ].join('');
}

function textsOf(
  { lines, details, room }: Card,
  [x, middle]: PicturePoint,
  ink: 'ink' | 'quiet',
): readonly string[] {
  const detailed = details !== '' || room !== undefined;
  const top = middle - textHeight(lines, detailed) / 2;
  return [
    ...lines.map((line, at) =>
      text([x, top + at * sizes.line + 12], sizes.label, line, `class="label" fill="${colours[ink][0]}"`),
    ),
    detailed
      ? text(
          [x, top + lines.length * sizes.line + 11],
          sizes.details,
          details,
          `class="details" fill="${colours.quiet[0]}"`,
        )
      : '',
  ];
}

/** Of a map, whose page shows what a run did and answers clicks: there is no tooltip. */
type EdgeOfMap = {
  /** Points by which its texts are moved to the left, where a count has room at their right. */
  readonly shift: number;
  /** What is in it besides. */
  readonly more: readonly string[];
};

export function edgeGroup(
  edge: ViewEdge,
  at: number,
  place: GraphLayout['edges'][number] | undefined,
  map?: EdgeOfMap,
): string {
  if (place === undefined) throw new Error(`Internal: no place for edge ${at}`);
  const isRoute = edge.taken > 0;
  const fails = isFailureEdge(edge);
  const colour = colours[isRoute ? 'ink' : 'line'][0];
  const classes = ['edge', ...(isRoute ? ['taken'] : []), ...(fails ? ['failure'] : [])].join(' ');
  const width = isRoute ? 2.5 : 1;
  const lines = edgeLines(edge);
  const { label } = place;
  return [
    `<g id="edge-${at}" class="${classes}" data-edge="${at}" data-from="${escaped(edge.from)}" data-to="${escaped(edge.to)}">`,
    map === undefined ? `<title>${escaped(edgeTitle(edge))}</title>` : '',
    ...place.line.map((one) =>
      element(
        one,
        `class="line" stroke="${colour}" stroke-width="${width}"${fails ? ' stroke-dasharray="5 3"' : ''}`,
      ),
    ),
    ...place.arrow.map((one) => element(one, `class="arrow" fill="${colour}" stroke="${colour}"`)),
    ...(label === undefined ? [] : edgeTexts(lines, [label[0] - (map?.shift ?? 0), label[1]])),
    ...(map?.more ?? []),
    '</g>',
  ].join('');
}

/** The lines at the middle of a label, each with a halo that keeps it apart from lines below it. */
const edgeTexts = (lines: readonly string[], [x, y]: PicturePoint): readonly string[] =>
  lines.map((line, at) => {
    const middle = y + (at - (lines.length - 1) / 2) * 14;
    const halo = `stroke="${colours.ground[0]}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"`;
    const mark = edgeMarks[line];
    if (mark !== undefined)
      return `<path class="condition-mark" d="M${coordinate(x)} ${coordinate(middle)}${mark}" fill="none" stroke="${colours.quiet[0]}" stroke-width="1.5"/>`;
    const count = at === lines.length - 1 && isCount(line);
    const look = count
      ? `class="count" fill="${colours.ink[0]}" font-weight="700"`
      : `class="condition" fill="${colours.quiet[0]}"`;
    return text([x, middle + 3.5], sizes.edge, line, `text-anchor="middle" ${look} ${halo}`);
  });

/** What the signs and lines of this picture mean. */
function legendOf(view: GraphView, problems: boolean): readonly LegendEntry[] {
  const states = new Set(view.nodes.map(({ state }) => state).filter((state) => state !== 'none'));
  return [
    ...[...states].map((state) => ({
      mark: (at: PicturePoint) => sign(state, at),
      words: lookOf(state).word,
    })),
    ...(problems ? [{ mark: (at: PicturePoint) => sign('problem', at), words: 'has findings' }] : []),
    ...(view.edges.some(({ taken }) => taken > 0)
      ? [
          {
            mark: lineMark('taken', `stroke="${colours.ink[0]}" stroke-width="2.5"`),
            words: 'taken (×: how often)',
          },
        ]
      : []),
    ...(view.edges.some(isFailureEdge)
      ? [
          {
            mark: lineMark('', `stroke="${colours.line[0]}" stroke-width="1.5" stroke-dasharray="5 3"`),
            words: 'after a failure',
          },
        ]
      : []),
  ];
}
