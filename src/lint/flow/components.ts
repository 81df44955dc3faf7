/** Cycles of a directed graph: its strongly connected components, without recursion (Tarjan). */

/** The components of more than one node, and single nodes with an edge to themselves; `next` gives the nodes that edges
 *  lead to. Each in the order of `nodes`. Linear in nodes and edges. */
export function cyclesOf<N>(nodes: readonly N[], next: (node: N) => readonly N[]): readonly (readonly N[])[] {
  const index = new Map<N, number>();
  const low = new Map<N, number>();
  const open = new Set<N>();
  const stack: N[] = [];
  const found: N[][] = [];
  const lower = (node: N, to: number) => low.set(node, Math.min(low.get(node) ?? to, to));
  for (const root of nodes) {
    if (index.has(root)) continue;
    const trail: { readonly node: N; readonly next: readonly N[]; at: number }[] = [];
    const enter = (node: N) => {
      index.set(node, index.size);
      low.set(node, index.size - 1);
      stack.push(node);
      open.add(node);
      trail.push({ node, next: next(node), at: 0 });
    };
    enter(root);
    for (let top = trail.at(-1); top !== undefined; top = trail.at(-1)) {
      const to = top.next[top.at++];
      if (to !== undefined) {
        const seen = index.get(to);
        if (seen === undefined) enter(to);
        else if (open.has(to)) lower(top.node, seen);
        continue;
      }
      trail.pop();
      const { node } = top;
      const lowest = low.get(node) ?? 0;
      const above = trail.at(-1);
      if (above !== undefined) lower(above.node, lowest);
      if (lowest !== index.get(node)) continue;
      const members = stack.splice(stack.lastIndexOf(node));
      for (const member of members) open.delete(member);
      if (members.length > 1 || next(node).includes(node)) found.push(members);
    }
  }
  return found;
}
