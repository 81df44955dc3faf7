/** A text of an editor as far as it can be read. */
import { kinds } from '../app/kinds.ts';
import type { NodeKind } from '../core/contracts/node-kind.ts';
import type { Graph } from '../core/graph.ts';
import { edgeAttributes, graphAttributes } from '../core/settings/graph.ts';
import type { AttributeSpec, AttributeTable } from '../core/settings/types.ts';
import { typed } from '../core/settings/typing.ts';
import { mentionsIn } from '../dot/mentions.ts';
import { readGraph } from '../dot/read.ts';
import type { CursorOwner } from './cursor.ts';

/** The graph, which is read once for each text; of a text that cannot be read the graph without the line that is being written, else the one that was read last. */
export function graphNear(file: string, text: string, offset: number, last?: Graph): Graph | undefined {
  if (last?.text === text) return last;
  const { graph = readGraph(file, withoutLine(text, offset)).graph } = readGraph(file, text);
  return graph === undefined ? last : typed(graph, kinds).graph;
}

/** The text with blanks in place of the line at an offset. */
function withoutLine(text: string, offset: number): string {
  const start = Math.max(text.lastIndexOf('\n', offset - 1), text.lastIndexOf('\r', offset - 1)) + 1;
  const length = text.slice(start).search(/[\r\n]/);
  const end = length === -1 ? text.length : start + length;
  return text.slice(0, start) + ' '.repeat(end - start) + text.slice(end);
}

/** The ids that the text names, and those of the graph. */
export const idsIn = (text: string, graph: Graph | undefined): readonly string[] => [
  ...new Set([
    ...(graph?.nodes.keys() ?? []),
    ...(graph?.text === text ? [] : mentionsIn(text).map(({ id }) => id)),
  ]),
];

/** The node type of the element at the cursor. */
export const kindAt = (owner: CursorOwner, graph: Graph | undefined): NodeKind | undefined => {
  const type = owner.kind === 'node' ? graph?.nodes.get(owner.id)?.type : undefined;
  return kinds.find((one) => one.type === type);
};

/** The attributes that the element at the cursor can have. */
export function tableAt(owner: CursorOwner, graph: Graph | undefined): AttributeTable {
  if (owner.kind === 'graph') return graphAttributes;
  if (owner.kind === 'edge' || owner.kind === 'edges') return edgeAttributes;
  const kind = kindAt(owner, graph);
  if (kind !== undefined) return kind.attributes;
  return Object.assign({}, ...kinds.map(({ attributes }) => attributes)) as AttributeTable;
}

/** What the tables say about an attribute: of this element, else of any that has it. */
export function specOf(key: string, owner: CursorOwner, graph: Graph | undefined): AttributeSpec | undefined {
  const tables = [tableAt(owner, graph), ...kinds.map(({ attributes }) => attributes)];
  return tables.find((table) => Object.hasOwn(table, key))?.[key];
}
