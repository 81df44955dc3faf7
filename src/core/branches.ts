/** Where a graph fans out and where its branches join: each fan-out with the nodes of its branches. Pure, computed once per graph. */
import {
  type BranchProblem,
  branchesUpTo,
  crossingsOf,
  type EdgesByNode,
  intendedJoin,
} from './branch-problems.ts';
import { type Edge, fanInType, fanOutType, type Graph } from './graph.ts';
import { postDominators } from './post-dominators.ts';

export type Region = {
  /** The fan-out. */
  readonly node: string;
  readonly join: string;
  /** In the order of the edges in the text; the id of a branch is that of its first node. Nodes of regions in it are among its nodes. */
  readonly branches: readonly { readonly id: string; readonly nodes: ReadonlySet<string> }[];
  /** The innermost branch that contains the fan-out. */
  readonly within?: string;
};

type Analysis = {
  readonly regions: ReadonlyMap<string, Region>;
  readonly branchOf: ReadonlyMap<string, string>;
  /** By the id of a branch. */
  readonly regionOf: ReadonlyMap<string, Region>;
  readonly problems: readonly BranchProblem[];
};

/** The fan-outs whose branches meet, by id. */
export const regionsOf = (graph: Graph): ReadonlyMap<string, Region> => analysisOf(graph).regions;

/** Why the branches of the other fan-outs cannot run: those are in no region. */
export const branchProblems = (graph: Graph): readonly BranchProblem[] => analysisOf(graph).problems;

/** The innermost branch that a node belongs to. */
export const branchAt = (graph: Graph, node: string): string | undefined =>
  analysisOf(graph).branchOf.get(node);

/** The regions that a node is in a branch of, from inside out. */
export function* regionsAround(graph: Graph, node: string): Generator<Region> {
  const { regionOf } = analysisOf(graph);
  for (let branch = branchAt(graph, node); branch !== undefined; ) {
    const region = regionOf.get(branch);
    if (region === undefined) return;
    yield region;
    branch = region.within;
  }
}

/** The first region, in the order of the text, whose branches join at the node; fan-outs on different paths may share their join. */
export const regionJoinedAt = (graph: Graph, node: string): Region | undefined =>
  [...regionsOf(graph).values()].find(({ join }) => join === node);

/** The region whose branches were to meet at a node that is in one of them, and an edge that leads another past it. */
export function branchesPast(
  graph: Graph,
  node: string,
): { readonly region: Region; readonly edge: Edge } | undefined {
  const [region] = regionsAround(graph, node);
  const past =
    region && crossingsOf(edgesByNode(graph), region.node, node).find(({ what }) => what === 'past');
  return region === undefined || past === undefined ? undefined : { region, edge: past.edge };
}

const known = new WeakMap<Graph, Analysis>();

function analysisOf(graph: Graph): Analysis {
  const found = known.get(graph) ?? analysed(graph);
  known.set(graph, found);
  return found;
}

const nothing: Analysis = { regions: new Map(), branchOf: new Map(), regionOf: new Map(), problems: [] };

function analysed(graph: Graph): Analysis {
  const fanOuts = [...graph.nodes.values()].filter(({ type }) => type === fanOutType).map(({ id }) => id);
  if (fanOuts.length === 0) return nothing;
  const edges = edgesByNode(graph);
  const joinOf = joinsIn(edges);
  const clean = new Map<string, Region>();
  for (const node of fanOuts) {
    const join = joinOf(node);
    const region = join === undefined ? undefined : regionAt(edges, node, join);
    if (region !== undefined) clean.set(node, region);
  }
  const owned = new Set([...clean.values()].map(({ join }) => join));
  const problems: BranchProblem[] = [];
  for (const node of fanOuts) {
    if (clean.has(node)) continue;
    if (problems.length > enough) {
      problems.push({ what: 'no-join', node });
      continue;
    }
    const join = intendedJoin(edges, node, owned);
    // Where nothing leads to an end, no path is known to pass a node; the branches may meet all the same.
    const region = join === undefined ? undefined : regionAt(edges, node, join);
    if (region !== undefined) clean.set(node, region);
    else problems.push(...problemsOf(edges, node, join));
  }
  return nested(clean, problems);
}

/** Problems that are traced to their edges: each time the whole graph is searched. */
const enough = 30;

const problemsOf = (edges: EdgesByNode, node: string, join: string | undefined): readonly BranchProblem[] =>
  join === undefined ? [{ what: 'no-join', node }] : crossingsOf(edges, node, join);

function edgesByNode(graph: Graph): EdgesByNode {
  const by = (end: 'from' | 'to'): Map<string, Edge[]> => {
    const edges = new Map<string, Edge[]>([...graph.nodes.keys()].map((id) => [id, []]));
    for (const edge of graph.edges) edges.get(edge[end])?.push(edge);
    return edges;
  };
  return { graph, leaving: by('from'), entering: by('to') };
}

/** For a fan-out the nearest `tripleoctagon` that all paths of all branches pass, else the nearest such node. Since a node belongs
 *  to one branch, only a single branch may have others before its `tripleoctagon`; among them may be whole regions. */
function joinsIn({ graph, leaving }: EdgesByNode): (node: string) => string | undefined {
  const isEnd = (id: string): boolean => graph.nodes.get(id)?.type === 'exit';
  const after = postDominators(
    new Map([...leaving].map(([id, edges]) => [id, isEnd(id) ? [] : edges.map(({ to }) => to)])),
  );
  const found = new Map<string, string | undefined>();
  const joinOf = (node: string): string | undefined => {
    const targets = new Set((leaving.get(node) ?? []).map(({ to }) => to));
    let first: string | undefined;
    for (let at = after.get(node); at !== undefined && !isEnd(at); at = after.get(at)) {
      const type = graph.nodes.get(at)?.type;
      if (!targets.has(at)) {
        if (type === fanInType || targets.size > 1) return at;
        first ??= at;
      }
      if (type === fanOutType) at = found.get(at) ?? at;
    }
    return first;
  };
  // From the ends backwards, so that the joins of fan-outs behind a single branch are known.
  const depth = depthsIn(after);
  const fanOuts = [...graph.nodes.values()].filter(({ type }) => type === fanOutType);
  for (const { id } of fanOuts.sort((a, b) => depth(a.id) - depth(b.id))) found.set(id, joinOf(id));
  return (node) => found.get(node);
}

/** How many nodes all paths from a node pass. */
function depthsIn(after: ReadonlyMap<string, string>): (node: string) => number {
  const depths = new Map<string, number>();
  return (node) => {
    const path = [node];
    for (let at = after.get(node); at !== undefined && !depths.has(at); at = after.get(at)) path.push(at);
    const last = path.at(-1) ?? node;
    let depth = depths.get(after.get(last) ?? '') ?? 0;
    for (const id of path.reverse()) depths.set(id, ++depth);
    return depth;
  };
}

function regionAt(edges: EdgesByNode, node: string, join: string): Region | undefined {
  const branches = branchesUpTo(edges, node, join);
  if (branches === undefined) return undefined;
  return { node, join, branches: [...branches].map(([id, nodes]) => ({ id, nodes })) };
}

/** The regions with the branch that each lies in; one that does not join in that branch is none. */
function nested(clean: ReadonlyMap<string, Region>, problems: BranchProblem[]): Analysis {
  const innermost = new Map<
    string,
    { readonly id: string; readonly nodes: ReadonlySet<string>; readonly of: Region }
  >();
  for (const region of clean.values())
    for (const branch of region.branches)
      for (const node of branch.nodes) {
        const other = innermost.get(node);
        if (other === undefined || branch.nodes.size < other.nodes.size)
          innermost.set(node, { ...branch, of: region });
      }
  const regions = new Map<string, Region>();
  for (const region of clean.values()) {
    const around = innermost.get(region.node);
    if (around !== undefined && !around.nodes.has(region.join))
      problems.push({ what: 'shared-join', node: region.node, join: region.join, outer: around.of.node });
    else regions.set(region.node, around === undefined ? region : { ...region, within: around.id });
  }
  const branchOf = new Map([...innermost].map(([node, { id }]) => [node, id]));
  const regionOf = new Map([...regions.values()].flatMap((one) => one.branches.map(({ id }) => [id, one])));
  return { regions, branchOf, regionOf, problems };
}
