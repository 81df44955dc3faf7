/** Which kind a node is of: its type, else its shape, else its id, else the default. */
import { present } from './attribute.ts';
import type { Node } from './graph.ts';

export type Recognised = {
  readonly type: string;
  readonly shapes: readonly string[];
  readonly ids: readonly string[];
};

/** The kind of `node`, or undefined when its type or shape is none of theirs. A plain box (or no shape) called
 *  `start`, `exit` or `end` is what its id says. */
export function kindOf<K extends Recognised>(node: Node, kinds: readonly K[]): K | undefined {
  const type = present(node.attrs, 'type')?.value.text.trim();
  if (type !== undefined) return kinds.find((k) => k.type === type);
  const shape = present(node.attrs, 'shape')?.value.text.trim() ?? 'box';
  const byShape = kinds.find((k) => k.shapes.includes(shape));
  if (shape !== 'box') return byShape;
  return kinds.find((k) => k.ids.includes(node.id)) ?? byShape;
}
