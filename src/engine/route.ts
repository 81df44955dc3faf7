/** Chooses the edge by which the run leaves a finished node, and says why. */
import { byWeightThenName, type Choice, chooseEdge, compareText as compare } from '../dot/choose.ts';
import { evaluate } from '../dot/condition.ts';
import type { Edge, ParsedGraph } from '../model/graph.ts';
import type { Outcome } from '../model/outcome.ts';
import type { RouteCandidate } from '../model/trace.ts';

export { normalLabel } from '../dot/choose.ts';

export type Route = Choice & {
  /** Every edge that leaves the node, sorted by target and condition. */
  readonly candidates: readonly RouteCandidate[];
};

/** Five steps, in this order: edges whose condition is true; the unconditional edge whose label is the preferred one;
 *  the first suggested id that is an unconditional target; any unconditional edge; none. Ties go to the highest
 *  weight, then to the smallest target id. A node that broke leaves only by a condition that is true. */
export function route(
  graph: ParsedGraph,
  node: string,
  outcome: Outcome,
  lookup: (key: string) => string,
): Route {
  const edges = leaving(graph).get(node) ?? [];
  const isTrue = (edge: Edge) => edge.condition !== undefined && evaluate(edge.condition, lookup);
  const broke = outcome.status === 'fail' && outcome.broke;
  const { edge, how } = chooseEdge(edges, isTrue, { ...outcome, broke });
  const candidates = edges
    .map((candidate): RouteCandidate => {
      const matched = candidate.condition === undefined || isTrue(candidate);
      const facts = {
        to: candidate.to,
        weight: candidate.weight,
        condition: candidate.conditionText,
        matched,
      };
      return candidate === edge ? facts : { ...facts, lost: whyLost(candidate, matched, edge, how, broke) };
    })
    .sort((a, b) => compare(a.to, b.to) || compare(a.condition, b.condition));
  return { edge, how, candidates };
}

const known = new WeakMap<ParsedGraph, ReadonlyMap<string, readonly Edge[]>>();

/** The edges that leave each node, in the order in which ties are broken; computed once per graph. */
export function leaving(graph: ParsedGraph): ReadonlyMap<string, readonly Edge[]> {
  const found = known.get(graph);
  if (found !== undefined) return found;
  const edges = new Map<string, Edge[]>();
  for (const edge of graph.edges) {
    const same = edges.get(edge.from);
    if (same === undefined) edges.set(edge.from, [edge]);
    else same.push(edge);
  }
  for (const same of edges.values()) same.sort(byWeightThenName);
  known.set(graph, edges);
  return edges;
}

function whyLost(
  candidate: Edge,
  matched: boolean,
  winner: Edge | undefined,
  how: Choice['how'],
  broke: boolean,
): string {
  if (!matched) return 'its condition is false';
  if (candidate.condition === undefined && broke)
    return 'the node broke, and only an edge whose condition is true carries that';
  if (winner === undefined) return 'no edge fits';
  if (candidate.condition === undefined && how === 'condition') return 'a condition is true';
  if (how === 'label') return `the label of the edge to ${winner.to} is the preferred one`;
  if (how === 'suggested') return `${winner.to} was suggested`;
  return candidate.weight < winner.weight
    ? `weight ${candidate.weight} is less than ${winner.weight}`
    : `${winner.to} comes first by name`;
}
