/** The kind of a node: by its type, else its shape, else its id, else the default. */
import { present } from './attribute.ts';
import type { ParsedNode } from './graph.ts';

export type Recognised = {
  readonly type: string;
  readonly shapes: readonly string[];
  readonly ids: readonly string[];
};

/** The kind of `node`, or undefined if no kind has its type or shape. A plain box (or no shape) called `start`, `exit` or
 *  `end` is of the kind that its id names. */
export function kindOf<K extends Recognised>(node: ParsedNode, kinds: readonly K[]): K | undefined {
  const type = present(node.attrs, 'type')?.value.text.trim();
  if (type !== undefined) return kinds.find((k) => k.type === type);
  const shape = present(node.attrs, 'shape')?.value.text.trim() ?? 'box';
  const byShape = kinds.find((k) => k.shapes.includes(shape));
  if (shape !== 'box') return byShape;
  return kinds.find((k) => k.ids.includes(node.id)) ?? byShape;
}
