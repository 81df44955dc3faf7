/** The boxes of a picture: around the branches of a node, around each branch of several nodes, and around what a map has opened. Pure. */
import { countedItems } from '../../core/amounts.ts';
import type { GraphView } from '../inspect/graph-shapes.ts';

/** A box around nodes, those of boxes in it too. */
export type Box = {
  /** `fork-NODE`, `branch-ID` or `fold-ID`: unique in the graph. */
  readonly id: string;
  readonly kind: 'fork' | 'branch' | 'fold';
  readonly label: string;
  readonly nodes: ReadonlySet<string>;
};

export type Cluster = Omit<Box, 'nodes'> & {
  /** Of these only those that are in no box of `inner`. */
  readonly nodes: readonly string[];
  readonly inner: readonly Cluster[];
};

/** The outermost boxes of a pipeline. */
export const clustersOf = ({ regions }: Pick<GraphView, 'regions'>): readonly Cluster[] =>
  nestedBoxes(regions.flatMap(boxesOf));

/** The boxes of a region. A branch of one node has none. */
export const boxesOf = ({ node, list, branches }: GraphView['regions'][number]): readonly Box[] => [
  {
    id: `fork-${node}`,
    kind: 'fork',
    label: `${node}: ${list ? 'a branch for each item' : countedItems(branches.length, 'branch', 'branches')}`,
    nodes: new Set(branches.flatMap(({ nodes }) => nodes)),
  },
  ...branches
    .filter(({ nodes }) => nodes.length > 1)
    .map(({ id, nodes }): Box => ({ id: `branch-${id}`, kind: 'branch', label: id, nodes: new Set(nodes) })),
];

/** The boxes, each in the smallest that contains it; without those that only share nodes with another. */
export function nestedBoxes(boxes: readonly Box[]): readonly Cluster[] {
  const placed: { readonly box: Box; readonly inner: Box[] }[] = [];
  const outermost: Box[] = [];
  for (const box of [...boxes].sort((a, b) => b.nodes.size - a.nodes.size)) {
    const around = placed.filter((other) => shares(box, other.box));
    if (!around.every((other) => contains(other.box, box))) continue;
    (around.at(-1)?.inner ?? outermost).push(box);
    placed.push({ box, inner: [] });
  }
  const inner = new Map(placed.map((one) => [one.box, one.inner]));
  const clusterOf = (box: Box): Cluster => {
    const within = inOrder(boxes, inner.get(box) ?? []);
    const boxed = new Set(within.flatMap((one) => [...one.nodes]));
    const nodes = [...box.nodes].filter((node) => !boxed.has(node));
    return { ...box, nodes, inner: within.map(clusterOf) };
  };
  return inOrder(boxes, outermost).map(clusterOf);
}

const inOrder = (all: readonly Box[], some: readonly Box[]): readonly Box[] =>
  all.filter((box) => some.includes(box));

const contains = (outer: Box, inner: Box): boolean => [...inner.nodes].every((node) => outer.nodes.has(node));
const shares = (a: Box, b: Box): boolean => [...a.nodes].some((node) => b.nodes.has(node));

/** All boxes, each before those in it. */
export const flatClusters = (clusters: readonly Cluster[]): readonly Cluster[] =>
  clusters.flatMap((cluster) => [cluster, ...flatClusters(cluster.inner)]);
