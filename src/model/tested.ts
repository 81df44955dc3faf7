/** Whether the edges of a node ask how its work went. */
import type { Condition } from './condition.ts';
import type { Edge, Graph } from './graph.ts';

/** True where a condition on the node's outcome decides, on an edge of the node or behind conditional nodes, which pass its outcome on. */
export function testsOutcome(graph: Graph, from: string): boolean {
  const seen = new Set([from]);
  for (const at of seen) {
    for (const edge of graph.edges) {
      if (edge.from !== at) continue;
      if (isAbout(edge)) return true;
      if (graph.nodes.get(edge.to)?.type === 'conditional') seen.add(edge.to);
    }
  }
  return false;
}

/** A word that is no outcome, as in `outcome=has_dod`, is read as a question about the preferred label. */
function isAbout({ condition, conditionText }: Edge): boolean {
  if (condition === undefined) return false;
  if (names(condition, 'outcome') || names(condition, 'context.outcome')) return true;
  return names(condition, 'preferred_label') && /\boutcome\s*!?=/.test(conditionText);
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
