/** Why the branches of a fan-out do not meet: the edges that leave or enter one elsewhere than at its beginning and its join. Pure. */
import { type Edge, fanInType, type Graph } from './graph.ts';

/** A graph with its edges by node, in the order of the text. */
export type EdgesByNode = {
  readonly graph: Graph;
  readonly leaving: ReadonlyMap<string, readonly Edge[]>;
  readonly entering: ReadonlyMap<string, readonly Edge[]>;
};

/** An edge that a branch must not have, and the join that it keeps the branch from. */
export type BorderEdge = {
  /** `empty`: it leads from the fan-out to the join. `exit`, `back`, `other`, `past`: it leads from the branch to an exit, to the fan-out,
   *  to another branch, to a node from which no path leads to the join. `enters`: it leads into the branch. */
  readonly what: 'empty' | 'exit' | 'back' | 'other' | 'past' | 'enters';
  readonly node: string;
  readonly join: string;
  readonly branch: string;
  readonly edge: Edge;
  /** The other branch. */
  readonly other?: string;
};

export type BranchProblem =
  | BorderEdge
  /** No two branches meet, or the fan-out has no edge. */
  | { readonly what: 'no-join'; readonly node: string }
  /** The fan-out lies in a branch that would end at the same join. */
  | { readonly what: 'shared-join'; readonly node: string; readonly join: string; readonly outer: string };

/** The first nodes of the branches, in the order of the text. */
const targetsOf = ({ leaving }: EdgesByNode, node: string): ReadonlySet<string> =>
  new Set((leaving.get(node) ?? []).map(({ to }) => to));

type Walked = {
  readonly branches: ReadonlyMap<string, ReadonlySet<string>>;
  readonly crossings: readonly BorderEdge[];
};

/** The nodes of each branch up to the join; undefined if an edge crosses the border of one, or a node in one never comes to the join. */
export function branchesUpTo(edges: EdgesByNode, node: string, join: string): Walked['branches'] | undefined {
  const { branches, crossings } = walked(edges, node, join, () => true);
  if (crossings.length > 0 || branches.size === 0) return undefined;
  const left = new Set([...branches.values()].flatMap((nodes) => [...nodes]));
  const ends = [join];
  for (let at = ends.pop(); at !== undefined; at = ends.pop())
    for (const { from } of edges.entering.get(at) ?? []) if (left.delete(from)) ends.push(from);
  return left.size === 0 ? branches : undefined;
}

/** Every edge that crosses the border of a branch, if the branches are to meet at `join`. */
export const crossingsOf = (edges: EdgesByNode, node: string, join: string): readonly BorderEdge[] =>
  walked(edges, node, join, reachingJoin(edges, node, join)).crossings;

function walked(edges: EdgesByNode, node: string, join: string, reaches: (id: string) => boolean): Walked {
  const { graph, leaving, entering } = edges;
  const targets = targetsOf(edges, node);
  const owner = new Map<string, string>([...targets].filter((id) => id !== join).map((id) => [id, id]));
  const branches = new Map<string, Set<string>>();
  const crossings: BorderEdge[] = [];
  for (const branch of targets) {
    const first = leaving.get(node)?.find(({ to }) => to === branch);
    if (first === undefined) continue;
    const add = (what: BorderEdge['what'], edge: Edge, other?: string): void => {
      crossings.push({ what, node, join, branch, edge, ...(other === undefined ? {} : { other }) });
    };
    if (branch === join) add('empty', first);
    else if (branch === node) add('back', first);
    else if (graph.nodes.get(branch)?.type === 'exit') add('exit', first);
    else if (!reaches(branch)) add('past', first);
    else {
      const nodes = new Set([branch]);
      branches.set(branch, nodes);
      for (const at of nodes)
        for (const edge of leaving.get(at) ?? []) {
          const other = owner.get(edge.to) ?? branch;
          if (edge.to === join) continue;
          if (edge.to === node) add('back', edge);
          else if (graph.nodes.get(edge.to)?.type === 'exit') add('exit', edge);
          else if (other !== branch) add('other', edge, other);
          else if (!reaches(edge.to)) add('past', edge);
          else {
            owner.set(edge.to, branch);
            nodes.add(edge.to);
          }
        }
    }
  }
  for (const [branch, nodes] of branches)
    for (const at of nodes)
      for (const edge of entering.get(at) ?? [])
        if (!owner.has(edge.from) && !(edge.from === node && at === branch))
          crossings.push({ what: 'enters', node, join, branch, edge });
  return { branches, crossings };
}

/** Whether a path leads from a node to the join without passing the fan-out again. */
function reachingJoin({ entering }: EdgesByNode, node: string, join: string): (id: string) => boolean {
  const found = new Set([join]);
  for (const at of found) for (const { from } of entering.get(at) ?? []) if (from !== node) found.add(from);
  return (id) => found.has(id);
}

/** The node where the branches of a fan-out were probably meant to meet: the one that most of them come to, of those a node that only
 *  joins and is not the join of others, else the nearest. */
export function intendedJoin(
  edges: EdgesByNode,
  node: string,
  owned: ReadonlySet<string>,
): string | undefined {
  const targets = targetsOf(edges, node);
  const reached = new Map<string, { branches: number; steps: number }>();
  for (const target of targets)
    for (const [id, steps] of distancesFrom(edges, target, node)) {
      const old = reached.get(id) ?? { branches: 0, steps: 0 };
      reached.set(id, { branches: old.branches + 1, steps: old.steps + steps });
    }
  const joins = (id: string): boolean => edges.graph.nodes.get(id)?.type === fanInType && !owned.has(id);
  return [...reached]
    .filter(([id, { branches }]) => joins(id) || (branches > 1 && !targets.has(id)))
    .filter(([id]) => edges.graph.nodes.get(id)?.type !== 'exit')
    .map(([id, found]) => ({ id, ...found, joins: joins(id) }))
    .sort((a, b) => b.branches - a.branches || Number(b.joins) - Number(a.joins) || a.steps - b.steps)[0]?.id;
}

/** The nodes that a path from `first` comes to without passing the fan-out again, with the steps of the shortest. */
function distancesFrom({ leaving }: EdgesByNode, first: string, node: string): ReadonlyMap<string, number> {
  const found = new Map([[first, 0]]);
  for (const [at, steps] of found)
    for (const { to } of leaving.get(at) ?? []) if (to !== node && !found.has(to)) found.set(to, steps + 1);
  return found;
}
