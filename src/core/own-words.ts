/** Words of the pipeline's own that a node may answer as its outcome: those that an edge names. */
import { type EdgeCondition, holds, type Operator } from './conditions.ts';
import { type Edge, type Graph, isAgentType, type Node } from './graph.ts';
import { type OutcomeWord, outcomeOf } from './outcome.ts';
import { isGoalGate } from './settings/node.ts';

/** How an edge names a word: a comparison of the preferred label, or the label of an unconditional edge. */
export type NamedWord = { readonly test: Operator; readonly literal: string };

export type OutcomeWords = {
  readonly named: readonly NamedWord[];
  /** The node is a goal gate: `done` and the like are no verdict. */
  readonly gate: boolean;
};

export const noOwnWords: OutcomeWords = { named: [], gate: false };
/** A goal gate of an agent is asked for a verdict, which is one of the outcomes. */
export const verdictOnly: OutcomeWords = { named: [], gate: true };

/** Words for success that are no outcomes in conditions: an edge may name one of them and mean something else. */
export const wordsForSuccess: readonly string[] = ['ok', 'done', 'passed', 'completed'];

/** What a node's answer to "how did it go" means: an outcome, or a word that an edge names, which is a success with this word as its
 *  preferred label. Undefined for any other word: it counts for nothing, since it may mean a failure. */
export function answeredOutcome(
  word: string,
  { named, gate }: OutcomeWords,
): { readonly outcome: OutcomeWord; readonly label?: string } | undefined {
  const outcome = outcomeOf(word);
  if (outcome !== undefined) return { outcome };
  const label = spelled(word.trim(), named);
  if (label !== undefined) return { outcome: 'success', label };
  return !gate && wordsForSuccess.includes(word.trim().toLowerCase()) ? { outcome: 'success' } : undefined;
}

/** The word as edges write it, in any case. */
function spelled(word: string, named: readonly NamedWord[]): string | undefined {
  if (word === '') return undefined;
  const literals = named.filter(({ test }) => test === '=' || test === '!=').map(({ literal }) => literal);
  const folded = word.toLowerCase();
  const alike = literals.includes(word) ? word : literals.find((one) => one.toLowerCase() === folded);
  if (alike !== undefined) return alike;
  return named.some(({ test, literal }) => isPattern(test) && holds(word, test, literal)) ? word : undefined;
}

const isPattern = (test: Operator): boolean => test === 'contains' || test === 'matches';

/** The words that may be answered, for messages. */
export const namedLiterals = ({ named }: OutcomeWords): readonly string[] => [
  ...new Set(named.filter(({ test }) => !isPattern(test)).map(({ literal }) => literal)),
];

/** The words that a node may answer. */
export const wordsOfNode = (graph: Graph, { id, type, settings }: Node): OutcomeWords =>
  isGoalGate(settings) && isAgentType(type)
    ? verdictOnly
    : { named: wordsNamedAt(graph, id), gate: isGoalGate(settings) };

const known = new WeakMap<Graph, Map<string, readonly NamedWord[]>>();

/** The words that the edges of a node name, and those of the conditional nodes behind it, which pass its outcome on. */
export function wordsNamedAt(graph: Graph, from: string): readonly NamedWord[] {
  const all = known.get(graph) ?? new Map<string, readonly NamedWord[]>();
  known.set(graph, all);
  const found = all.get(from) ?? passedOnTo(graph, from).flatMap(wordsOfEdge);
  all.set(from, found);
  return found;
}

/** A label as a condition of the node, or of the conditional nodes behind it, spells it. */
export function labelAsAsked(graph: Graph, from: string, label: string): string {
  const asked = passedOnTo(graph, from)
    .flatMap(({ condition }) => (condition === undefined ? [] : wordsOfCondition(condition)))
    .map(({ literal }) => literal);
  if (asked.includes(label)) return label;
  return asked.find((literal) => normalLabel(literal) === normalLabel(label)) ?? label;
}

/** The edges that an outcome may take from `from` until a node with a separate outcome. */
function passedOnTo(graph: Graph, from: string): readonly Edge[] {
  const seen = new Set([from]);
  const edges: Edge[] = [];
  for (const at of seen)
    for (const edge of graph.edges) {
      if (edge.from !== at) continue;
      edges.push(edge);
      if (graph.nodes.get(edge.to)?.type === 'conditional') seen.add(edge.to);
    }
  return edges;
}

const wordsOfEdge = ({ condition, label }: Edge): readonly NamedWord[] => {
  if (condition !== undefined) return wordsOfCondition(condition);
  const literal = normalLabel(label);
  return literal === '' ? [] : [{ test: '=', literal }];
};

/** `outcome=has_dod` is read as a question about the preferred label. */
function wordsOfCondition(condition: EdgeCondition): readonly NamedWord[] {
  switch (condition.op) {
    case 'truthy':
      return [];
    case 'compare': {
      const { key, test, literal } = condition;
      const isLabel = key === 'preferred_label' || key === 'context.preferred_label';
      return isLabel && literal !== '' && /^(?:!?=|contains|matches)$/.test(test) ? [{ test, literal }] : [];
    }
    case 'not':
      return wordsOfCondition(condition.of);
    default:
      return [...wordsOfCondition(condition.left), ...wordsOfCondition(condition.right)];
  }
}

/** Whether an edge is about this word: its condition or label names it, or a conditional node that it leads to has such an edge. */
export function isAboutWord(graph: Graph, edge: Edge, word: string): boolean {
  const asks = ({ test, literal }: NamedWord) =>
    test !== '!=' && (holds(word, test, literal) || normalLabel(literal) === normalLabel(word));
  if (wordsOfEdge(edge).some(asks)) return true;
  return (
    graph.nodes.get(edge.to)?.type === 'conditional' && wordsNamedAt(graph, edge.to).some((one) => asks(one))
  );
}

/** Lower case, trimmed, without an accelerator such as `[K] `, `K) ` or `K - `. */
export function normalLabel(label: string): string {
  return label
    .trim()
    .toLowerCase()
    .replace(/^(?:\[\w+\]\s*|\w\)\s+|\w\s+-\s+)/, '')
    .trim();
}
