/** Edges that pass many ranks: Graphviz puts a point of each on each rank, which takes most of the time of a large layout. Pure. */
import type { GraphPart } from '../inspect/graph-shapes.ts';

type Nodes = readonly Pick<GraphPart['nodes'][number], 'id'>[];
type Edges = readonly Pick<GraphPart['edges'][number], 'from' | 'to'>[];

/** Ranks that edges pass, all together, from which a layout takes more than seconds. A hundred nodes with an edge to one exit have twice
 *  as many. */
const manyRanks = 2000;

/** How many ranks each edge passes: about, by the distance of each node from the first ones. */
export function ranksOf(nodes: Nodes, edges: Edges): readonly number[] {
  const next = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  for (const { from, to } of edges) next.get(from)?.push(to);
  const targets = new Set(edges.map(({ to }) => to));
  const first = nodes.filter(({ id }) => !targets.has(id));
  const rank = new Map(first.map(({ id }) => [id, 0]));
  for (const [id, at] of rank) for (const to of next.get(id) ?? []) if (!rank.has(to)) rank.set(to, at + 1);
  const rankOf = (id: string): number => rank.get(id) ?? 0;
  return edges.map(({ from, to }) => Math.abs(rankOf(to) - rankOf(from)));
}

/** Whether the edges pass so many ranks that they cannot all be laid out in the usual way. */
export const passesManyRanks = (nodes: Nodes, edges: Edges): boolean =>
  ranksOf(nodes, edges).reduce((sum, ranks) => sum + ranks, 0) - edges.length > manyRanks;

/** An edge that passes more ranks leads out of every screen. */
const longRanks = 20;

/** The places of the edges that a map draws only at their beginning, where there are too many ranks to pass: each node keeps the
 *  shortest edge to it. */
export function longEdges(nodes: Nodes, edges: Edges): ReadonlySet<number> {
  if (!passesManyRanks(nodes, edges)) return new Set();
  const ranks = ranksOf(nodes, edges);
  const shortest = new Map<string, number>();
  for (const [at, { to }] of edges.entries()) {
    const other = shortest.get(to);
    if (other === undefined || (ranks[at] ?? 0) < (ranks[other] ?? 0)) shortest.set(to, at);
  }
  return new Set(
    edges.flatMap(({ to }, at) => ((ranks[at] ?? 0) > longRanks && shortest.get(to) !== at ? [at] : [])),
  );
}
