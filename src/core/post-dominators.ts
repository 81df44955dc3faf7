/** What every path from a node passes: the nearest such node of each, found for a whole graph at once. */

/** A graph as lists of successors, by node. */
export type Successors = ReadonlyMap<string, readonly string[]>;

/** For each node the nearest other node that all its paths to an end pass; none for a node whose paths share only their end, and
 *  for one that reaches no end. An end is a node without successors. (Cooper, Harvey, Kennedy: A simple, fast dominance algorithm,
 *  on the reversed graph.) */
export function postDominators(successors: Successors): ReadonlyMap<string, string> {
  const order = backwards(successors);
  const position = new Map(order.map((id, at) => [id, at]));
  // The root, behind all ends, is -1; a node that is not yet known is undefined.
  const nearest: (number | undefined)[] = [];
  const common = (a: number, b: number): number => {
    let [one, other] = [a, b];
    while (one !== other) {
      if (one > other) one = nearest[one] ?? -1;
      else other = nearest[other] ?? -1;
    }
    return one;
  };
  for (let changed = true; changed; ) {
    changed = false;
    order.forEach((id, at) => {
      const next = successors.get(id) ?? [];
      let found: number | undefined = next.length === 0 ? -1 : undefined;
      for (const to of next) {
        const place = position.get(to);
        if (place === undefined || (nearest[place] === undefined && place !== at)) continue;
        if (place === at) continue;
        found = found === undefined ? place : common(found, place);
      }
      if (found === nearest[at]) return;
      nearest[at] = found;
      changed = true;
    });
  }
  return new Map(
    order.flatMap((id, at) => {
      const found = order[nearest[at] ?? -1];
      return found === undefined ? [] : [[id, found]];
    }),
  );
}

/** The nodes that reach an end, each after one of its successors: a reverse postorder of the reversed graph. */
function backwards(successors: Successors): readonly string[] {
  const before = new Map<string, string[]>();
  for (const [from, next] of successors)
    for (const to of next) {
      const list = before.get(to);
      if (list === undefined) before.set(to, [from]);
      else list.push(from);
    }
  const seen = new Set<string>();
  const left: string[] = [];
  for (const [end, next] of successors) {
    if (next.length > 0) continue;
    seen.add(end);
    const open = [{ id: end, next: 0 }];
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const from = before.get(top.id)?.[top.next++];
      if (from === undefined) {
        left.push(top.id);
        open.pop();
      } else if (!seen.has(from)) {
        seen.add(from);
        open.push({ id: from, next: 0 });
      }
    }
  }
  return left.reverse();
}
