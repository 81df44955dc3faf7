/** The texts of a node of the picture, and how large the node is. Points. */
import { elapsedWords, usdWords } from '../../core/amounts.ts';
import type { GraphView } from '../inspect/shapes.ts';
import { isKnownKind, kindLook } from './marks.ts';
import { cutToWidth, shortCondition, textWidth, wrapped } from './text.ts';

export type ViewNode = GraphView['nodes'][number];
export type ViewEdge = GraphView['edges'][number];

export const sizes = {
  label: 12.5,
  line: 15,
  details: 10,
  detailsLine: 14,
  icon: 16,
  gap: 7,
  edge: 10,
} as const;
const widest = { label: 165, edge: 105 } as const;
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
};

/** Whether anything has run in the graph: its nodes then have room for a sign. */
export const hasRun = ({ nodes }: GraphView): boolean =>
  nodes.some(({ state, executions }) => state !== 'none' || executions > 0);

/** `signed`: the node has room for a sign. */
export function cardOf(node: ViewNode, signed: boolean): Card {
  const label = node.label.trim() === '' ? node.id : node.label;
  const lines = wrapped(label, widest.label, sizes.label, most.label);
  const details = cutToWidth(detailsOf(node, label), widest.label + 20, sizes.details);
  const text = Math.max(
    ...lines.map((line) => textWidth(line, sizes.label)),
    textWidth(details, sizes.details),
  );
  const sides = sizes.icon + sizes.gap + (signed ? sizes.icon + sizes.gap : 0);
  const content = text + sides;
  const tall = lines.length * sizes.line + (details === '' ? 0 : sizes.detailsLine);
  if (node.type === 'conditional') {
    const height = Math.max(2 * tall + 14, 56);
    return { lines, details, content, text, width: content / (1 - tall / height) + 6, height };
  }
  const width = content + 2 * (pad.x + kindLook(node.type).aside);
  return { lines, details, content, text, width, height: Math.max(tall, sizes.icon) + 2 * pad.y };
}

/** `plan · ×2 · 1.2s · 0.02 USD`: the id where the label differs from it, an unknown type, and what the run did. */
function detailsOf(node: ViewNode, label: string): string {
  const { id, type, executions, took_ms, cost_usd, calls } = node;
  return [
    ...(plain(label) === plain(id) ? [] : [id]),
    ...(isKnownKind(type) ? [] : [type]),
    ...(executions > 1 ? [`×${executions}`] : []),
    ...(executions > 0 && type !== 'start' && type !== 'exit' ? [elapsedWords(took_ms)] : []),
    ...(calls === 0 ? [] : [cost_usd === null ? 'cost unknown' : usdWords(cost_usd)]),
  ].join(' · ');
}

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
export const isFailureEdge = ({ condition }: ViewEdge): boolean =>
  /\boutcome\s*={1,2}\s*["']?fail/.test(condition) && !/\|\|/.test(condition);
