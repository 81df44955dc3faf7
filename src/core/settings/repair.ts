/** What the author of a mistake probably meant. Lint checks the graph with every repair made: what it no longer finds there
 *  follows from the mistakes, and is not reported next to them. The graph that runs is never repaired. */
import { parseCondition } from '../conditions.ts';
import type { Diagnostic } from '../diagnostic.ts';
import type { Edge, ParsedGraph, ParsedNode } from '../graph.ts';
import type { Attribute, Attributes } from './types.ts';

export type Repair =
  /** An attribute has another name or value, everywhere it counts. `isPlaceholder`: it is unknown which one; any that is valid lets
   *  lint check the rest. */
  | { readonly attribute: Attribute; readonly instead: Attribute; readonly isPlaceholder?: boolean }
  /** An id stands for another node. */
  | { readonly id: string; readonly meant: string }
  /** An edge is replaced; without `edge` it is added. */
  | { readonly edge?: Edge; readonly instead: Edge }
  /** A node has another shape. */
  | { readonly node: string; readonly shape: string };

/** A diagnostic, and what its author probably meant. */
export type Finding = Diagnostic & { readonly repairs?: readonly Repair[] };

export const withText = (attribute: Attribute, text: string): Attribute => ({
  ...attribute,
  value: { kind: 'string', text },
});

/** The attribute with `instead` in place of `length` characters of its value. */
export const withWord = (
  attribute: Attribute,
  { at, length }: { readonly at: number; readonly length: number },
  instead: string,
): Attribute => {
  const { text } = attribute.value;
  return withText(attribute, `${text.slice(0, at)}${instead}${text.slice(at + length)}`);
};

/** An edge as if its author had written it next to `like`. */
export const newEdge = (
  from: string,
  to: string,
  conditionText: string,
  { span }: Pick<Edge, 'span'>,
): Edge => ({
  ...{ from, to, conditionText, span, attrs: new Map(), label: '', weight: 0 },
  ...conditionOf(conditionText),
});

function conditionOf(text: string): Pick<Edge, 'condition'> {
  const read = text === '' ? undefined : parseCondition(text);
  return read !== undefined && 'condition' in read ? { condition: read.condition } : {};
}

/** The graph with all repairs made. */
export function repaired(graph: ParsedGraph, repairs: readonly Repair[]): ParsedGraph {
  const attributes = new Map<Attribute, Attribute>();
  const ids = new Map<string, string>();
  const edges = new Map<Edge, Edge>();
  const added: Edge[] = [];
  const shapes = new Map<string, string>();
  for (const repair of repairs) {
    if ('attribute' in repair) attributes.set(repair.attribute, repair.instead);
    else if ('id' in repair) ids.set(repair.id, repair.meant);
    else if ('node' in repair) shapes.set(repair.node, repair.shape);
    else if (repair.edge === undefined) added.push(repair.instead);
    else edges.set(repair.edge, repair.instead);
  }
  const attrs = (old: Attributes): Attributes => replaced(old, attributes);
  const id = (old: string): string => ids.get(old) ?? old;
  const nodes = [...graph.nodes.values()]
    .filter((node) => !ids.has(node.id))
    .map((node): [string, ParsedNode] => [
      node.id,
      { ...node, attrs: shaped(attrs(node.attrs), node, shapes.get(node.id)) },
    ]);
  return {
    ...graph,
    attrs: attrs(graph.attrs),
    nodes: new Map(nodes),
    edges: [
      ...graph.edges.map((old): Edge => {
        const edge = edges.get(old) ?? old;
        const { conditionText, condition: _, ...rest } = edge;
        const now = attrs(edge.attrs);
        const text = now === edge.attrs ? conditionText : (now.get('condition')?.value.text ?? '');
        const condition = now === edge.attrs ? edge : { ...conditionOf(text) };
        const given = condition.condition === undefined ? {} : { condition: condition.condition };
        return { ...rest, ...given, attrs: now, conditionText: text, from: id(edge.from), to: id(edge.to) };
      }),
      ...added,
    ],
  };
}

/** The same map where nothing changes. */
function replaced(old: Attributes, attributes: ReadonlyMap<Attribute, Attribute>): Attributes {
  if (![...old.values()].some((one) => attributes.has(one))) return old;
  const now = new Map(old);
  for (const [key, one] of old) {
    const instead = attributes.get(one);
    if (instead === undefined) continue;
    now.delete(key);
    // A name that the element has already keeps its value.
    if (!now.has(instead.key)) now.set(instead.key, instead);
  }
  return now;
}

function shaped(attrs: Attributes, { span }: ParsedNode, shape: string | undefined): Attributes {
  if (shape === undefined) return attrs;
  const places = { keySpan: span, valueSpan: span, quoted: false };
  const value = { kind: 'string', text: shape } as const;
  return new Map([...attrs, ['shape', { key: 'shape', written: 'shape', value, ...places }]]);
}
