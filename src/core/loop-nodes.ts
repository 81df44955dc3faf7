/** Which nodes of a graph lead back to which. Pure. */
import type { Graph } from './graph.ts';

const reached = new WeakMap<Graph, Map<string, ReadonlySet<string>>>();

/** The nodes that can be reached from `from` by one edge or more; computed once per graph. */
function reachable(graph: Graph, from: string): ReadonlySet<string> {
  const known = reached.get(graph) ?? new Map<string, ReadonlySet<string>>();
  reached.set(graph, known);
  const before = known.get(from);
  if (before !== undefined) return before;
  const next = new Map<string, string[]>();
  for (const { from: a, to } of graph.edges) {
    const list = next.get(a);
    if (list === undefined) next.set(a, [to]);
    else list.push(to);
  }
  const found = new Set<string>();
  for (const open = [from]; open.length > 0; ) {
    for (const to of next.get(open.pop() ?? '') ?? []) {
      if (found.has(to)) continue;
      found.add(to);
      open.push(to);
    }
  }
  known.set(from, found);
  return found;
}

/** Whether a run at `from` may reach `to`, which may be the same node. */
export const leadsTo = (graph: Graph, from: string, to: string): boolean =>
  from === to || reachable(graph, from).has(to);

/** The nodes on a path from `from` back to `failed`, `from` among them; empty when there is none. */
export function loopOf(graph: Graph, from: string, failed: string): readonly string[] {
  if (!leadsTo(graph, from, failed)) return [];
  return [from, ...reachable(graph, from)].filter(
    (id, index, all) => all.indexOf(id) === index && leadsTo(graph, id, failed),
  );
}
