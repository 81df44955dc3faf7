/** Draws a laid-out graph as SVG. Colours, lines and signs are presentation attributes, so that a strict content-security
 *  policy allows them inline; rules of `stylesheet` for the same classes take precedence. */
import type { GraphView } from '../inspect/shapes.ts';
import {
  type Card,
  cardOf,
  edgeLines,
  edgeTitle,
  hasRun,
  isCount,
  isFailureEdge,
  nodeTitle,
  sizes,
  type ViewEdge,
  type ViewNode,
} from './card.ts';
import type { GraphLayout, PicturePoint, Stroke } from './layout.ts';
import { colours, edgeMarks, failureIcon, kindLook, stateLooks, stateSigns } from './marks.ts';
import { darkStyle } from './stylesheet.ts';
import { escaped, textWidth } from './text.ts';

export type GraphPicture = {
  /** Nodes with findings: they are marked. */
  readonly marked?: ReadonlySet<string>;
  /** For a page, which has its own heading, legend, ground and stylesheet. */
  readonly inline?: boolean;
  /** Lines above the graph; the first one is larger. */
  readonly heading?: readonly string[];
};

const margin = 14;
/** Without quotes: resvg ignores a list that has them. */
export const fontFamily = 'system-ui, Helvetica, Arial, Liberation Sans, DejaVu Sans, Noto Sans, sans-serif';
const number = (value: number): string => String(Number(value.toFixed(1)));

/** An SVG text. Each node is a group with `data-node`, `data-state` and its state as a class; each edge has `data-from`,
 *  `data-to` and `data-edge`, its index. The sign of a node is `<use class="sign" href="#sign-STATE">`. */
export function graphSvg(view: GraphView, layout: GraphLayout, picture: GraphPicture = {}): string {
  const { marked = new Set<string>(), inline = false } = picture;
  const signed = hasRun(view);
  const edges = view.edges.map((edge, at) => edgeGroup(edge, at, layout.edges[at]));
  const nodes = view.nodes.map((node, at) =>
    nodeGroup(node, cardOf(node, signed), layout.nodes[at], { signed, problem: marked.has(node.id) }),
  );
  const heading = inline ? [] : (picture.heading ?? []);
  const legend = inline ? [] : legendOf(view, marked.size > 0);
  const above = heading.length === 0 ? 0 : 14 + heading.length * 17;
  const width = Math.max(layout.width, legendWidth(legend), headingWidth(heading)) + 2 * margin;
  const height = layout.height + above + (legend.length === 0 ? 0 : 34) + 2 * margin;
  const left = margin + (width - 2 * margin - layout.width) / 2;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="factory-picture" viewBox="0 0 ${number(width)} ${number(height)}" width="${number(width)}" height="${number(height)}" font-family="${fontFamily}" font-size="${sizes.label}" role="img" aria-label="${escaped(`Graph of ${view.name}`)}">`,
    inline ? '' : `<style>${darkStyle()}</style>`,
    defs(),
    inline ? '' : `<rect class="ground" width="100%" height="100%" fill="${colours.ground[0]}"/>`,
    headingGroup(heading),
    `<g class="graph" transform="translate(${number(left)} ${number(margin + above)})">`,
    ...edges,
    ...nodes,
    '</g>',
    legendGroup(legend, height - margin - 10),
    '</svg>\n',
  ]
    .filter((line) => line !== '')
    .join('\n');
}

const defs = (): string =>
  `<defs>${Object.entries(stateSigns)
    .map(([name, shape]) => `<symbol id="sign-${name}" viewBox="0 0 16 16">${shape}</symbol>`)
    .join('')}</defs>`;

const text = (at: PicturePoint, size: number, words: string, attributes: string): string =>
  `<text x="${number(at[0])}" y="${number(at[1])}" font-size="${size}" ${attributes}>${escaped(words)}</text>`;

/** The element of a stroke; `attributes` are those of all of them. */
function element({ kind, points, filled }: Stroke, attributes: string): string {
  const fill = filled ? '' : ' fill="none"';
  const pair = ([x, y]: PicturePoint) => `${number(x)},${number(y)}`;
  const [first = [0, 0], second = [0, 0]] = points;
  switch (kind) {
    case 'ellipse':
      return `<ellipse cx="${number(first[0])}" cy="${number(first[1])}" rx="${number(second[0])}" ry="${number(second[1])}" ${attributes}${fill}/>`;
    case 'curve':
      return `<path d="M${pair(first)}C${points.slice(1).map(pair).join(' ')}" ${attributes}${fill}/>`;
    default:
      return `<${kind === 'polygon' ? 'polygon' : 'polyline'} points="${points.map(pair).join(' ')}" ${attributes}${fill}/>`;
  }
}

type Marking = { readonly signed: boolean; readonly problem: boolean };

function nodeGroup(
  node: ViewNode,
  card: Card,
  place: GraphLayout['nodes'][number] | undefined,
  { signed, problem }: Marking,
): string {
  if (place === undefined) throw new Error(`Internal: no place for node ${node.id}`);
  const { line, paper, width, dashes } = stateLooks[node.state];
  const fails = node.ends === 'fail';
  const icon = fails ? failureIcon : kindLook(node.type).icon;
  const stroke = `stroke="${colours[line][0]}" stroke-width="${width}"${dashes === '' ? '' : ` stroke-dasharray="${dashes}"`}`;
  const [x, y] = place.at;
  const left = x - card.content / 2;
  const quiet = node.state === 'none' && signed;
  const classes = [
    'node',
    `kind-${node.type}`,
    node.state,
    ...(fails ? ['ends-fail'] : []),
    ...(problem ? ['problem'] : []),
  ];
  return [
    `<g id="node-${escaped(node.id)}" class="${escaped(classes.join(' '))}" data-node="${escaped(node.id)}" data-state="${node.state}">`,
    `<title>${escaped(nodeTitle(node))}</title>`,
    ...place.outline.map((one, at) =>
      at === 0
        ? element({ ...one, filled: true }, `class="outline" fill="${colours[paper][0]}" ${stroke}`)
        : element(one, `class="outline inner" ${stroke}`),
    ),
    `<svg class="icon" x="${number(left)}" y="${number(y - 8)}" width="16" height="16" viewBox="0 0 16 16" color="${colours[fails ? 'fail' : 'quiet'][0]}">${icon}</svg>`,
    ...textsOf(card, [left + sizes.icon + sizes.gap, y], quiet ? 'quiet' : 'ink'),
    ...(signed ? [sign(node.state, [left + card.content - sizes.icon, y - 8], colours[line][0])] : []),
    ...(problem
      ? [sign('problem', [x + card.width / 2 - 11, y - card.height / 2 - 7], colours.fail[0])]
      : []),
    '</g>',
  ].join('');
}

const sign = (name: string, [x, y]: PicturePoint, colour: string): string =>
  `<use class="sign" href="#sign-${name}" x="${number(x)}" y="${number(y)}" width="16" height="16" color="${colour}"/>`;

function textsOf(
  { lines, details }: Card,
  [x, middle]: PicturePoint,
  ink: 'ink' | 'quiet',
): readonly string[] {
  const tall = lines.length * sizes.line + (details === '' ? 0 : sizes.detailsLine);
  const top = middle - tall / 2;
  return [
    ...lines.map((line, at) =>
      text([x, top + at * sizes.line + 11.5], sizes.label, line, `class="label" fill="${colours[ink][0]}"`),
    ),
    details === ''
      ? ''
      : text(
          [x, top + lines.length * sizes.line + 10],
          sizes.details,
          details,
          `class="details" fill="${colours.quiet[0]}"`,
        ),
  ];
}

function edgeGroup(edge: ViewEdge, at: number, place: GraphLayout['edges'][number] | undefined): string {
  if (place === undefined) throw new Error(`Internal: no place for edge ${at}`);
  const taken = edge.taken > 0;
  const fails = isFailureEdge(edge);
  const colour = colours[taken ? 'ink' : 'line'][0];
  const classes = ['edge', ...(taken ? ['taken'] : []), ...(fails ? ['failure'] : [])].join(' ');
  const width = taken ? 2.5 : 1;
  const lines = edgeLines(edge);
  return [
    `<g id="edge-${at}" class="${classes}" data-edge="${at}" data-from="${escaped(edge.from)}" data-to="${escaped(edge.to)}">`,
    `<title>${escaped(edgeTitle(edge))}</title>`,
    ...place.line.map((one) =>
      element(
        one,
        `class="line" stroke="${colour}" stroke-width="${width}"${fails ? ' stroke-dasharray="5 3"' : ''}`,
      ),
    ),
    ...place.arrow.map((one) => element(one, `class="arrow" fill="${colour}" stroke="${colour}"`)),
    ...(place.label === undefined ? [] : edgeTexts(lines, place.label)),
    '</g>',
  ].join('');
}

/** The lines at the middle of a label, each with a halo that keeps it apart from lines below it. */
const edgeTexts = (lines: readonly string[], [x, y]: PicturePoint): readonly string[] =>
  lines.map((line, at) => {
    const middle = y + (at - (lines.length - 1) / 2) * 12.5;
    const halo = `stroke="${colours.ground[0]}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"`;
    const mark = edgeMarks[line];
    if (mark !== undefined)
      return `<path class="condition-mark" d="M${number(x)} ${number(middle)}${mark}" fill="none" stroke="${colours.quiet[0]}" stroke-width="1.5"/>`;
    const count = at === lines.length - 1 && isCount(line);
    const look = count
      ? `class="count" fill="${colours.ink[0]}" font-weight="700"`
      : `class="condition" fill="${colours.quiet[0]}"`;
    return text([x, middle + 3.5], sizes.edge, line, `text-anchor="middle" ${look} ${halo}`);
  });

const headingWidth = (lines: readonly string[]): number =>
  Math.max(0, ...lines.map((line, at) => textWidth(line, at === 0 ? 16 : 12)));

const headingGroup = (lines: readonly string[]): string =>
  lines
    .map((line, at) =>
      text(
        [margin, margin + 12 + at * 18],
        at === 0 ? 16 : 12,
        line,
        at === 0
          ? `class="title" font-weight="600" fill="${colours.ink[0]}"`
          : `class="details" fill="${colours.quiet[0]}"`,
      ),
    )
    .join('\n');

type LegendEntry = { readonly mark: (at: PicturePoint) => string; readonly words: string };

/** What the signs and lines of this picture mean. */
function legendOf(view: GraphView, problems: boolean): readonly LegendEntry[] {
  const states = new Set(view.nodes.map(({ state }) => state).filter((state) => state !== 'none'));
  const line =
    (attributes: string) =>
    ([x, y]: PicturePoint) =>
      `<path class="line" d="M${number(x)} ${number(y + 8)}h16" fill="none" ${attributes}/>`;
  return [
    ...[...states].map((state) => ({
      mark: (at: PicturePoint) => sign(state, at, colours[stateLooks[state].line][0]),
      words: stateLooks[state].words,
    })),
    ...(problems
      ? [{ mark: (at: PicturePoint) => sign('problem', at, colours.fail[0]), words: 'has findings' }]
      : []),
    ...(view.edges.some(({ taken }) => taken > 0)
      ? [{ mark: line(`stroke="${colours.ink[0]}" stroke-width="2.5"`), words: 'taken (×: how often)' }]
      : []),
    ...(view.edges.some(isFailureEdge)
      ? [
          {
            mark: line(`stroke="${colours.line[0]}" stroke-width="1.5" stroke-dasharray="5 3"`),
            words: 'after a failure',
          },
        ]
      : []),
  ];
}

const entryWidth = ({ words }: LegendEntry): number => 16 + 6 + textWidth(words, 11) + 18;
const legendWidth = (entries: readonly LegendEntry[]): number =>
  entries.reduce((sum, entry) => sum + entryWidth(entry), 0);

function legendGroup(entries: readonly LegendEntry[], y: number): string {
  let x = margin;
  return entries
    .map((entry) => {
      const drawn =
        entry.mark([x, y - 8]) +
        text([x + 22, y + 4], 11, entry.words, `class="details" fill="${colours.quiet[0]}"`);
      x += entryWidth(entry);
      return drawn;
    })
    .join('\n');
}
