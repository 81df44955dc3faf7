/** Edges that lead to a misspelt id: Graphviz creates a node of that id, and the node that was meant stays without an edge. */
import { nearestAmong } from '../core/nearest.ts';
import type { Subject } from './rule.ts';

/** Undeclared nodes that edges lead to and whose id defines no kind; for each the nearest declared id, if there is one. */
export function undeclaredTargets({
  graph,
  incoming,
  kinds,
}: Subject): ReadonlyMap<string, string | undefined> {
  const nodes = [...graph.nodes.values()];
  const nearest = nearestAmong(nodes.filter((node) => node.declared).map(({ id }) => id));
  const targets = nodes
    .filter((node) => !node.declared && incoming.has(node.id))
    // Ids such as exit define the kind of the node.
    .filter((node) => !kinds.some((kind) => kind.ids.includes(node.id)));
  return new Map(targets.map(({ id }) => [id, nearest(id)]));
}

/** Three rules ask for them. */
const known = new WeakMap<Subject, ReadonlyMap<string, string>>();

/** The misspelt ids, with the ids that were meant: declared nodes that no other edge leads to. */
export function misspeltTargets(subject: Subject): ReadonlyMap<string, string> {
  const old = known.get(subject);
  if (old !== undefined) return old;
  const found = new Map<string, string>();
  known.set(subject, found);
  for (const [id, meant] of undeclaredTargets(subject))
    if (meant !== undefined && !subject.incoming.has(meant)) found.set(id, meant);
  return found;
}
