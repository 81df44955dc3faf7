/** The boxes of a picture: around the branches of a node, and around each branch of several nodes. Pure. */
import { countedItems } from '../../core/amounts.ts';
import type { GraphView } from '../inspect/shapes.ts';

type Region = GraphView['regions'][number];

export type Cluster = {
  /** `fork-NODE` or `branch-ID`: unique in the graph. */
  readonly id: string;
  readonly kind: 'fork' | 'branch';
  readonly label: string;
  /** Of these only those that are in no box of `inner`. */
  readonly nodes: readonly string[];
  readonly inner: readonly Cluster[];
};

/** The outermost boxes. A branch of one node has no box. */
export const clustersOf = ({ regions }: Pick<GraphView, 'regions'>): readonly Cluster[] =>
  regions.filter(({ within }) => within === null).map((region) => clusterOf(region, regions));

function clusterOf(region: Region, all: readonly Region[]): Cluster {
  const branches = region.branches.map((branch) => branchOf(branch, all));
  const boxed = branches.filter(({ inner, nodes }) => inner.length > 0 || nodes.length > 1);
  return {
    id: `fork-${region.node}`,
    kind: 'fork',
    label: `${region.node}: ${region.list ? 'a branch for each item' : countedItems(branches.length, 'branch', 'branches')}`,
    nodes: branches.filter((one) => !boxed.includes(one)).flatMap(({ nodes }) => nodes),
    inner: boxed,
  };
}

function branchOf({ id, nodes }: Region['branches'][number], all: readonly Region[]): Cluster {
  const inner = all.filter(({ within }) => within === id);
  const nested = new Set(inner.flatMap(({ branches }) => branches.flatMap((branch) => branch.nodes)));
  return {
    id: `branch-${id}`,
    kind: 'branch',
    label: id,
    nodes: nodes.filter((node) => !nested.has(node)),
    inner: inner.map((region) => clusterOf(region, all)),
  };
}

/** All boxes, each before those in it. */
export const flatClusters = (clusters: readonly Cluster[]): readonly Cluster[] =>
  clusters.flatMap((cluster) => [cluster, ...flatClusters(cluster.inner)]);
