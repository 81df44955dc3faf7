/** Chooses the edge by which the run leaves a finished node, and says why. */
import { asksClass, asksOutcome, type EdgeCondition, evaluate } from './conditions.ts';
import type { Edge, Graph, ParsedGraph } from './graph.ts';
import { isChosenAt } from './human-gate.ts';
import { isFinalConfig, type Outcome } from './outcome.ts';
import { isAboutWord, normalLabel } from './own-words.ts';
import type { RouteCandidate } from './records/trace.ts';

export type Route = Choice & {
  /** Every edge that leaves the node, sorted by target and condition. */
  readonly candidates: readonly RouteCandidate[];
};

/** The value of a condition's key as text; undefined for a key that nothing has set. */
export type ConditionLookup = (key: string) => string | undefined;

/** Five steps, in this order (of a human gate first the edge of the option that was chosen): edges whose condition is true; the unconditional edge whose label is the preferred one;
 *  the first suggested id that is an unconditional target; any unconditional edge; none. Ties go to the highest
 *  weight, then to the smallest target id. A node that broke leaves only by a condition that is true, on its own edge or, where it
 *  names `failure_class`, behind conditional nodes; a failure of the configuration only by one that names `failure_class`. */
export function route(graph: Graph, node: string, outcome: Outcome, lookup: ConditionLookup): Route {
  const edges = leaving(graph).get(node) ?? [];
  const reads = new Map(edges.map((edge) => [edge, readBy(edge, lookup)]));
  const choice = chooseEdge(edges, (edge) => reads.get(edge)?.isTrue === true, {
    ...routingInput(graph, outcome),
    isChosen: isChosenAt(graph, node, outcome),
    takesBroken: (edge) => asksClassBehind(graph, edge, routingInput(graph, outcome), lookup),
  });
  const isRefused = choice.edge !== undefined && !carries(graph, node, choice.edge, outcome, lookup);
  const { edge, how }: Choice = isRefused ? { edge: undefined, how: 'none' } : choice;
  const candidates = edges
    .map((candidate): RouteCandidate => {
      const { isTrue = false, unset = [] } = reads.get(candidate) ?? {};
      const matched = candidate.condition === undefined || isTrue;
      const facts = {
        to: candidate.to,
        weight: candidate.weight,
        condition: candidate.conditionText,
        matched,
        ...(unset.length === 0 ? {} : { unset }),
      };
      if (candidate === edge) return facts;
      const lost =
        isRefused && matched ? refusedConfig : whyLost(graph, candidate, facts, edge, how, outcome);
      return { ...facts, lost };
    })
    .sort(byTarget);
  return { edge, how, candidates };
}

/** The edges by which a fan-out is left: all that have no condition or a true one. After a failure none: they lead into branches. */
export function fanOutRoute(
  graph: Graph,
  node: string,
  { status }: Pick<Outcome, 'status'>,
  lookup: ConditionLookup,
): Route {
  const candidates = (leaving(graph).get(node) ?? []).map((candidate): RouteCandidate => {
    const { isTrue, unset } = readBy(candidate, lookup);
    const matched = candidate.condition === undefined || isTrue;
    const { to, weight, conditionText: condition } = candidate;
    const facts = { to, weight, condition, matched, ...(unset.length === 0 ? {} : { unset }) };
    if (matched && status === 'fail') return { ...facts, lost: 'a fan-out that fails begins no branch' };
    return matched ? facts : { ...facts, lost: falseWords(unset) };
  });
  const how = candidates.some(({ lost }) => lost === undefined) ? 'parallel' : 'none';
  return { edge: undefined, how, candidates: candidates.sort(byTarget) };
}

const byTarget = (a: RouteCandidate, b: RouteCandidate): number =>
  compareText(a.to, b.to) || compareText(a.condition, b.condition);

function falseWords(unset: readonly string[]): string {
  const is = unset.length === 1 ? 'is' : 'are';
  return `its condition is false${unset.length === 0 ? '' : `: ${unset.join(', ')} ${is} not set`}`;
}

/** Why an edge that fits does not take a failure of the configuration. */
const refusedConfig = 'it does not name failure_class, and a failure of class config would be met again';

/** What the rule takes of an outcome. */
const routingInput = (graph: Graph, outcome: Outcome): RoutingInput => ({
  broke: outcome.status === 'fail' && outcome.broke,
  label: outcome.label,
  suggested: outcome.suggested,
  ...(outcome.ownWord === true
    ? { isAboutWord: (edge: Edge) => isAboutWord(graph, edge, outcome.label) }
    : {}),
});

/** Whether the condition of an edge is true, and which keys it read that nothing has set. */
function readBy(
  { condition }: Edge,
  lookup: ConditionLookup,
): { readonly isTrue: boolean; readonly unset: readonly string[] } {
  const unset = new Set<string>();
  const value = (key: string): string => {
    const found = lookup(key);
    if (found === undefined) unset.add(key);
    return found ?? '';
  };
  return { isTrue: condition !== undefined && evaluate(condition, value), unset: [...unset] };
}

/** An edge, and those that are taken after it as long as it leads to conditional nodes. */
function* passedOnBy(
  graph: Graph,
  first: Edge,
  input: RoutingInput,
  lookup: ConditionLookup,
): Generator<Edge> {
  const seen = new Set<string>();
  for (let edge: Edge | undefined = first; edge !== undefined; ) {
    yield edge;
    if (seen.has(edge.to) || graph.nodes.get(edge.to)?.type !== 'conditional') return;
    seen.add(edge.to);
    const next: readonly Edge[] = leaving(graph).get(edge.to) ?? [];
    edge = chooseEdge(next, (one) => readBy(one, lookup).isTrue, input).edge;
  }
}

/** Whether the edge that is taken behind conditional nodes asks for the class of the failure: there is a way for nodes that broke. */
export function asksClassBehind(
  graph: Graph,
  first: Edge,
  input: RoutingInput,
  lookup: ConditionLookup,
): boolean {
  for (const { condition } of passedOnBy(graph, first, { ...input, broke: false }, lookup))
    if (condition !== undefined) return namesKey(condition, asksClass) && !isTrueOfSuccess(condition, lookup);
  return false;
}

/** Whether a condition would hold for a success too: `failure_class!=infra` alone asks for no failure. */
const isTrueOfSuccess = (condition: EdgeCondition, lookup: ConditionLookup): boolean =>
  evaluate(condition, (key) => (asksOutcome(key) ? 'success' : asksClass(key) ? '' : (lookup(key) ?? '')));

/** Whether an edge behind conditional nodes may ask for the class of a failure. */
export function mayAskClassBehind(graph: Graph, first: Edge): boolean {
  const seen = new Set([first.to]);
  for (const at of seen) {
    if (graph.nodes.get(at)?.type !== 'conditional') continue;
    for (const { condition, to } of leaving(graph).get(at) ?? []) {
      if (condition === undefined) seen.add(to);
      else if (namesKey(condition, asksClass)) return true;
    }
  }
  return false;
}

/** Whether an edge takes the outcome. A failure of the configuration ends the run, unless the condition of the edge, or of the one that
 *  is taken behind conditional nodes, names the class; an exit that fails ends it anyway. */
function carries(
  graph: Graph,
  node: string,
  first: Edge,
  outcome: Outcome,
  lookup: ConditionLookup,
): boolean {
  if (!isFinalConfig(outcome) || graph.nodes.get(node)?.type === 'conditional') return true;
  for (const { condition, to } of passedOnBy(graph, first, routingInput(graph, outcome), lookup)) {
    if (condition !== undefined && namesKey(condition, asksClass)) return true;
    const target = graph.nodes.get(to);
    if (target?.type === 'exit') return target.settings.outcome === 'fail';
  }
  return false;
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
  graph: Graph,
  candidate: Edge,
  { matched, unset = [] }: RouteCandidate,
  winner: Edge | undefined,
  how: Choice['how'],
  outcome: Outcome,
): string {
  if (!matched) return falseWords(unset);
  if (candidate.condition === undefined && outcome.status === 'fail' && outcome.broke)
    return 'the node broke, and only an edge whose condition is true carries that';
  if (winner === undefined) return 'no edge fits';
  if (outcome.ownWord === true && !isAboutWord(graph, candidate, outcome.label) && testsOutcomeAt(candidate))
    return `the edge to ${winner.to} names the word "${outcome.label}"`;
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
  /** Whether an unconditional edge takes it all the same. */
  readonly takesBroken?: (edge: Edge) => boolean;
  readonly label: string;
  readonly suggested: readonly string[];
  /** Of a word that the node answered as its outcome: whether an edge is about this word. */
  readonly isAboutWord?: (edge: Edge) => boolean;
  /** Of a human gate: whether an edge is that of the option that was chosen. */
  readonly isChosen?: ((edge: Edge) => boolean) | undefined;
};

export type Choice = {
  /** Undefined if no edge fits. */
  readonly edge: Edge | undefined;
  readonly how: 'condition' | 'label' | 'suggested' | 'unconditional' | 'parallel' | 'none';
};

/** Chooses from `edges`, sorted by `byWeightThenName`: the first whose condition is true; else the unconditional one with
 *  the preferred label; else the first suggested id that is an unconditional target; else the first unconditional one;
 *  else none. An edge that is about the answered word wins over conditions on the outcome, which is a success for any word. */
export function chooseEdge(
  edges: readonly Edge[],
  isTrue: (edge: Edge) => boolean,
  { broke, takesBroken, label, suggested, isAboutWord: isAbout, isChosen }: RoutingInput,
): Choice {
  const fits = edges.filter((edge) =>
    edge.condition === undefined ? !broke || takesBroken?.(edge) === true : isTrue(edge),
  );
  const chosen = isChosen && fits.find(isChosen);
  if (chosen !== undefined) return { edge: chosen, how: howChosen(chosen) };
  const about = isAbout === undefined ? [] : fits.filter(isAbout);
  const conditional = fits.find(
    (edge) =>
      edge.condition !== undefined && (about.length === 0 || about.includes(edge) || !testsOutcomeAt(edge)),
  );
  if (conditional !== undefined) return { edge: conditional, how: 'condition' };
  const open = fits.filter((edge) => edge.condition === undefined);
  if (label !== '') {
    const normal = normalLabel(label);
    const labelled = open.find((edge) => edge.label !== '' && normalLabel(edge.label) === normal);
    if (labelled !== undefined) return { edge: labelled, how: 'label' };
  }
  for (const id of suggested) {
    // In a called pipeline, ids begin with that of the call.
    const target = open.find(({ to }) => to === id || to.endsWith(`.${id}`));
    if (target !== undefined) return { edge: target, how: 'suggested' };
  }
  const [first = open[0]] = open.filter((edge) => about.includes(edge));
  return first === undefined ? { edge: undefined, how: 'none' } : { edge: first, how: 'unconditional' };
}

const howChosen = ({ condition, label }: Edge): Choice['how'] =>
  condition !== undefined ? 'condition' : label === '' ? 'suggested' : 'label';

/** Whether the condition of an edge is about how the node went: its outcome, its word, or the class of its failure. */
export const asksHowItWent = ({ condition }: Edge): boolean =>
  condition !== undefined &&
  namesKey(condition, (key) =>
    ['outcome', 'preferred_label', 'failure_class'].includes(key.replace(/^context\./, '')),
  );

const testsOutcomeAt = ({ condition }: Edge): boolean =>
  condition !== undefined && namesKey(condition, asksOutcome);

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
function isAbout(edge: Edge): boolean {
  const { condition, conditionText } = edge;
  if (condition === undefined) return false;
  if (testsOutcomeAt(edge)) return true;
  return namesKey(condition, (key) => key === 'preferred_label') && /\boutcome\s*!?=/.test(conditionText);
}

function namesKey(condition: EdgeCondition, isSought: (key: string) => boolean): boolean {
  switch (condition.op) {
    case 'compare':
    case 'truthy':
      return isSought(condition.key);
    case 'not':
      return namesKey(condition.of, isSought);
    default:
      return namesKey(condition.left, isSought) || namesKey(condition.right, isSought);
  }
}
