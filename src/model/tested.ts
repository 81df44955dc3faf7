/** Whether the edges of a node ask how its work went. */
import { present } from './attribute.ts';
import type { Condition } from './condition.ts';
import type { Edge, Graph, Node } from './graph.ts';

/** True where a condition on the node's outcome decides, on an edge of the node or behind nodes that pass its outcome on. */
export function testsOutcome(graph: Graph, from: string, passesOn: (node: Node) => boolean): boolean {
  const seen = new Set([from]);
  for (const at of seen) {
    for (const edge of graph.edges) {
      if (edge.from !== at) continue;
      if (isAbout(edge)) return true;
      const next = graph.nodes.get(edge.to);
      if (next !== undefined && passesOn(next)) seen.add(next.id);
    }
  }
  return false;
}

/** A word that is no outcome, as in `outcome=has_dod`, is read as a question about the preferred label. */
function isAbout({ condition, attrs }: Edge): boolean {
  if (condition === undefined) return false;
  if (names(condition, 'outcome') || names(condition, 'context.outcome')) return true;
  const text = present(attrs, 'condition')?.value.text ?? '';
  return names(condition, 'preferred_label') && /\boutcome\s*!?=/.test(text);
}

function names(condition: Condition, key: string): boolean {
  switch (condition.op) {
    case 'compare':
    case 'truthy':
      return condition.key === key;
    case 'not':
      return names(condition.of, key);
    default:
      return names(condition.left, key) || names(condition.right, key);
  }
}
