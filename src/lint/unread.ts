/** Ids in edges that are probably misspelt: Graphviz creates a node of that id. */
import { nearestId } from '../core/nearest.ts';
import { type Attributes, present } from '../core/settings/types.ts';
import { nodesOf, type Subject } from './rule.ts';

/** Undeclared nodes whose id defines no kind; for each the nearest declared id, if there is one. */
export function undeclaredNodes({ graph, kinds }: Subject): ReadonlyMap<string, string | undefined> {
  const nodes = [...graph.nodes.values()];
  const nearest = nearestId(nodes.filter((node) => node.declared).map(({ id }) => id));
  const undeclared = nodes
    .filter((node) => !node.declared)
    // Ids such as exit define the kind of the node.
    .filter((node) => !kinds.some((kind) => kind.ids.includes(node.id)));
  return new Map(undeclared.map(({ id }) => [id, nearest(id)]));
}

/** A misspelt id: the one that was meant, and whether no path leads to that node without it. */
type Misspelt = { readonly meant: string; readonly isLost: boolean };

/** A node that edges create and that is near a declared one is misspelt where it leads nowhere, where nothing leads to it, or
 *  where no path leads to the declared one; also far from any where it leads nowhere and other nodes are unreached. */
export function misspeltIds(subject: Subject): ReadonlyMap<string, Misspelt> {
  const { incoming, outgoing } = subject;
  const found = new Map<string, Misspelt>();
  const reached = reachedIds(subject);
  for (const [id, near] of undeclaredNodes(subject)) {
    const isEnd = !outgoing.has(id);
    const meant = near ?? (isEnd && reached !== undefined ? unreachedRoot(subject, reached) : undefined);
    if (meant === undefined) continue;
    const isLost = !incoming.has(id) || reached?.has(meant) === false;
    if (isLost || isEnd) found.set(id, { meant, isLost });
  }
  return found;
}

const targets = (attrs: Attributes): readonly string[] =>
  ['retry_target', 'fallback_retry_target'].flatMap((key) => present(attrs, key)?.value.text.trim() ?? []);

/** The ids that a path leads to from the start: by edges, or as the retry target of one of them. Undefined without exactly one
 *  start: no node could be reached, or the author must choose first. */
export function reachedIds(subject: Subject): ReadonlySet<string> | undefined {
  const { graph, outgoing } = subject;
  const [start, ...more] = nodesOf(subject, 'start');
  if (start === undefined || more.length > 0) return undefined;
  const reached = new Set<string>();
  const open = [start.id, ...targets(graph.attrs)];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const node = graph.nodes.get(id);
    if (node === undefined || reached.has(id)) continue;
    reached.add(id);
    for (const { to } of outgoing.get(id) ?? []) open.push(to);
    open.push(...targets(node.attrs));
  }
  return reached;
}

/** The first unreached node from which all other unreached ones can be reached: what an edge is missing to. */
export function unreachedRoot(
  { graph, outgoing }: Subject,
  reached: ReadonlySet<string>,
): string | undefined {
  const unreached = [...graph.nodes.keys()].filter((id) => !reached.has(id));
  if (unreached.length > 200) return undefined;
  return unreached.find((first) => {
    const seen = new Set<string>();
    const open = [first];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      if (seen.has(id)) continue;
      seen.add(id);
      for (const { to } of outgoing.get(id) ?? []) open.push(to);
    }
    return unreached.every((id) => seen.has(id));
  });
}
