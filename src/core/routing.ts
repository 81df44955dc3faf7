/** Chooses the edge by which the run leaves a finished node, and says why. */
import { type EdgeCondition, evaluate } from './conditions.ts';
import type { Edge, Graph, ParsedGraph } from './graph.ts';
import type { Outcome } from './outcome.ts';
import type { RouteCandidate } from './records/trace.ts';

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
    .sort((a, b) => compareText(a.to, b.to) || compareText(a.condition, b.condition));
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

/* Chooses the edge by which a finished node is left: one rule, used by the engine and by lint. */

/** The input of the rule in addition to the conditions. */
export type RoutingInput = {
  /** The node broke instead of running to its end: unconditional edges are not taken. */
  readonly broke: boolean;
  readonly label: string;
  readonly suggested: readonly string[];
};

export type Choice = {
  /** Undefined if no edge fits. */
  readonly edge: Edge | undefined;
  readonly how: 'condition' | 'label' | 'suggested' | 'unconditional' | 'none';
};

/** Chooses from `edges`, sorted by `byWeightThenName`: the first whose condition is true; else the unconditional one with
 *  the preferred label; else the first suggested id that is an unconditional target; else the first unconditional one;
 *  else none. */
export function chooseEdge(
  edges: readonly Edge[],
  isTrue: (edge: Edge) => boolean,
  { broke, label, suggested }: RoutingInput,
): Choice {
  const conditional = edges.find((edge) => edge.condition !== undefined && isTrue(edge));
  if (conditional !== undefined) return { edge: conditional, how: 'condition' };
  const none: Choice = { edge: undefined, how: 'none' };
  if (broke) return none;
  const open = edges.filter((edge) => edge.condition === undefined);
  if (label !== '') {
    const wanted = normalLabel(label);
    const labelled = open.find((edge) => edge.label !== '' && normalLabel(edge.label) === wanted);
    if (labelled !== undefined) return { edge: labelled, how: 'label' };
  }
  for (const id of suggested) {
    const target = open.find((edge) => edge.to === id);
    if (target !== undefined) return { edge: target, how: 'suggested' };
  }
  return open[0] === undefined ? none : { edge: open[0], how: 'unconditional' };
}

/** Lower case, trimmed, without an accelerator such as `[K] `, `K) ` or `K - `. */
export function normalLabel(label: string): string {
  return label
    .trim()
    .toLowerCase()
    .replace(/^(?:\[\w+\]\s*|\w\)\s+|\w\s+-\s+)/, '')
    .trim();
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
/** The order of edges that fit equally: highest weight, then smallest target id. */
export const byWeightThenName = (a: Edge, b: Edge): number => b.weight - a.weight || compareText(a.to, b.to);

/* Whether the edges of a node ask how its work went. */

/** True where a condition on the node's outcome decides, on an edge of the node or behind conditional nodes, which pass its outcome on. */
export function testsOutcome(graph: Graph, from: string): boolean {
  const seen = new Set([from]);
  for (const at of seen) {
    for (const edge of graph.edges) {
      if (edge.from !== at) continue;
      if (isAbout(edge)) return true;
      if (graph.nodes.get(edge.to)?.type === 'conditional') seen.add(edge.to);
    }
  }
  return false;
}

/** A word that is no outcome, as in `outcome=has_dod`, is read as a question about the preferred label. */
function isAbout({ condition, conditionText }: Edge): boolean {
  if (condition === undefined) return false;
  if (names(condition, 'outcome') || names(condition, 'context.outcome')) return true;
  return names(condition, 'preferred_label') && /\boutcome\s*!?=/.test(conditionText);
}

function names(condition: EdgeCondition, key: string): boolean {
  switch (condition.op) {
    case 'compare':
    case 'truthy':
      return condition.key === key;
    case 'not':
      return names(condition.of, key);
    default:
      return names(condition.left, key) || names(condition.right, key);
  }
}
