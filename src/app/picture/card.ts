/** The texts of a node of the picture, and how large the node is. Points. */
import type { GraphView } from '../inspect/graph-shapes.ts';
import { isKnownKind, kindLook } from './marks.ts';
import { ranWords } from './ran-words.ts';
import { cutToWidth, shortCondition, textWidth, wrapped } from './text.ts';

export type ViewNode = GraphView['nodes'][number];
export type ViewEdge = GraphView['edges'][number];

export const sizes = {
  label: 13,
  line: 16,
  details: 12,
  detailsLine: 15,
  icon: 16,
  gap: 7,
  edge: 12,
} as const;
const widest = { label: 170, details: 222, mapDetails: 190, edge: 120 } as const;
const most = { label: 4, edge: 3 } as const;
const pad = { x: 10, y: 8 } as const;

/** The texts of a node and its size; `content` is the width of the box around icon, texts and sign. */
export type Card = {
  readonly lines: readonly string[];
  readonly details: string;
  readonly content: number;
  readonly text: number;
  readonly width: number;
  readonly height: number;
  /** Of a map: there is room for details of this width, which the page writes. */
  readonly room?: number;
};

/** Whether anything has run in the graph: its nodes then have room for a sign. */
export const hasRun = ({ nodes }: Pick<GraphView, 'nodes'>): boolean =>
  nodes.some(({ state, executions }) => state !== 'none' || executions > 0);

/** `signed`: the node has room for a sign. */
export function cardOf(node: ViewNode, signed: boolean): Card {
  const details = [...aboutNode(node), ...ranWords(node)].join(' · ');
  return sizedCard(node, cutToWidth(details, widest.details, sizes.details), { signed });
}

/** The card of a node of a map: with room for a sign and for the longest of `details`, which the page writes. */
export function mapCardOf(node: ViewNode, details: readonly string[]): Card {
  const longest = Math.max(...details.map((one) => textWidth(one, sizes.details)));
  return sizedCard(node, details[0] ?? '', { signed: true, room: Math.min(longest, widest.mapDetails) });
}

function sizedCard(
  node: ViewNode,
  details: string,
  { signed, room }: { readonly signed: boolean; readonly room?: number },
): Card {
  const lines = wrapped(labelOf(node), widest.label, sizes.label, most.label);
  const text = Math.max(
    ...lines.map((line) => textWidth(line, sizes.label)),
    room ?? textWidth(details, sizes.details),
  );
  const sides = sizes.icon + sizes.gap + (signed ? sizes.icon + sizes.gap : 0);
  const content = text + sides;
  const tall = textHeight(lines, details !== '' || room !== undefined);
  const common = { lines, details, content, text, ...(room === undefined ? {} : { room }) };
  if (node.type === 'conditional') {
    const height = Math.max(2 * tall + 14, 56);
    return { ...common, width: content / (1 - tall / height) + 6, height };
  }
  const width = content + 2 * (pad.x + kindLook(node.type).aside);
  return { ...common, width, height: Math.max(tall, sizes.icon) + 2 * pad.y };
}

/** The height of the texts of a card. */
export const textHeight = (lines: readonly string[], detailed: boolean): number =>
  lines.length * sizes.line + (detailed ? sizes.detailsLine : 0);

const labelOf = ({ label, id }: ViewNode): string => (label.trim() === '' ? id : label);

/** The id where the label differs from it, and an unknown type. */
export const aboutNode = (node: ViewNode): readonly string[] => [
  ...(plain(labelOf(node)) === plain(node.id) ? [] : [node.id]),
  ...(isKnownKind(node.type) ? [] : [node.type]),
];

/** `Check it!` and `check_it` are the same to a reader. */
const plain = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/** The lines at an edge: its label, else its condition; then how often it was taken. */
export function edgeLines({ label, condition, taken }: ViewEdge): readonly string[] {
  const text = label.trim() === '' ? shortCondition(condition) : label;
  const lines = wrapped(signs[text] ?? text, widest.edge, sizes.edge, most.edge);
  return taken > 1 ? [...lines, `×${taken}`] : lines;
}

const signs: Readonly<Record<string, string>> = { success: '✓', fail: '✗' };
export const isCount = (line: string): boolean => /^×\d+$/.test(line);

/** Everything about a node, for its tooltip. */
export const nodeTitle = (node: ViewNode): string =>
  [
    `${node.label}`,
    `${node.id} (${node.type})`,
    ...(node.executions === 0 ? [] : [`executions: ${node.executions}`]),
  ].join('\n');

export const edgeTitle = ({ from, to, label, condition, taken }: ViewEdge): string =>
  [
    `${from} → ${to}${label === '' ? '' : ` "${label}"`}`,
    ...(condition === '' ? [] : [condition]),
    ...(taken === 0 ? [] : [`taken: ${taken}`]),
  ].join('\n');

/** Whether the edge is one for failures: it is drawn dashed. */
export const isFailureEdge = ({ condition }: Pick<ViewEdge, 'condition'>): boolean =>
  /\boutcome\s*={1,2}\s*["']?fail/.test(condition) && !/\|\|/.test(condition);
