/** The edges by which a node can be left: calls the router with everything that the node may report. */
import { evaluate } from '../../core/conditions.ts';
import type { Edge, Graph } from '../../core/graph.ts';
import { isChosenAt } from '../../core/human-gate.ts';
import type { FailureClass } from '../../core/outcome.ts';
import { isAboutWord } from '../../core/own-words.ts';
import type { PossibleOutcome } from '../../core/possible-outcomes.ts';
import {
  asksClassBehind,
  byWeightThenName,
  type Choice,
  chooseEdge,
  mayAskClassBehind,
  type RoutingInput,
} from '../../core/routing.ts';
import { type Comparison, comparisons, contextKey, valuesFor } from './comparisons.ts';

/** The report of an attempt in addition to its status, and the context for the router. */
export type EdgeWords = {
  readonly label: string;
  /** The label is a word that is answered as the outcome. */
  readonly ownWord?: true;
  readonly suggested: readonly string[];
  readonly class: FailureClass | undefined;
  readonly context: ReadonlyMap<string, string>;
};

export type Way = {
  /** Undefined where no edge takes the outcome. */
  readonly edge: Edge | undefined;
  readonly how: Choice['how'];
  /** Of a branch: the other edges of the fan-out are taken as well. */
  readonly alone?: LeavingEdges;
};

/** The edges that leave a node, with all keys of their conditions. */
export type LeavingEdges = {
  readonly graph: Graph;
  readonly node: string;
  /** In the order in which the router prefers them. */
  readonly edges: readonly Edge[];
  readonly open: readonly Edge[];
  readonly labels: readonly string[];
  readonly asksClass: boolean;
  readonly keys: readonly { readonly key: string; readonly values: readonly string[] }[];
  /** True if the values produce every result of every comparison. */
  readonly sure: boolean;
};

/** Keys that no attempt sets: the engine provides them. */
const engineKeys: ReadonlySet<string> = new Set([
  ...['outcome', 'preferred_label', 'failure_class', 'current_node'],
]);

export function leavingEdgesOf(graph: Graph, node: string, leaving: readonly Edge[]): LeavingEdges {
  const edges = [...leaving].sort(byWeightThenName);
  const compared = new Map<string, Comparison[]>();
  for (const { condition } of edges) if (condition !== undefined) comparisons(condition, compared);
  const labels = valuesFor(compared.get('preferred_label') ?? []);
  const keys = [...compared]
    .filter(([key]) => !engineKeys.has(key))
    .map(([key, of]) => ({ key, ...valuesFor(of) }));
  return {
    graph,
    node,
    edges,
    open: edges.filter((edge) => edge.condition === undefined),
    labels: compared.has('preferred_label') ? labels.values : [''],
    asksClass: compared.has('failure_class'),
    keys,
    sure: labels.sure && keys.every(({ sure }) => sure),
  };
}

/** The edge taken after an attempt with this report. `behind`: whether an edge behind conditional nodes asks for the class of the failure,
 *  where that is not decided by the report, since keys of their conditions are not among its context. */
export function choose(
  fork: LeavingEdges,
  { status, broke }: PossibleOutcome,
  words: EdgeWords,
  behind?: (edge: Edge) => boolean,
): Choice {
  const value = (asked: string): string => {
    const key = contextKey(asked);
    switch (key) {
      case 'outcome':
        return status;
      case 'preferred_label':
        return words.label;
      case 'failure_class':
        return words.class ?? '';
      case 'current_node':
        return fork.node;
      default:
        return words.context.get(key) ?? '';
    }
  };
  const isTrue = (edge: Edge) => edge.condition !== undefined && evaluate(edge.condition, value);
  const { label, suggested, ownWord } = words;
  const about = ownWord === true ? { isAboutWord: (edge: Edge) => isAboutWord(fork.graph, edge, label) } : {};
  const input: RoutingInput = { broke, label, suggested, ...about };
  const takesBroken = behind ?? ((edge: Edge) => asksClassBehind(fork.graph, edge, input, value));
  const isChosen = isChosenAt(fork.graph, fork.node, { label, suggested });
  return chooseEdge(fork.edges, isTrue, { ...input, takesBroken, isChosen });
}

const mayAsk = (fork: LeavingEdges) => (edge: Edge) => mayAskClassBehind(fork.graph, edge);

// A limit on the combinations that are tried; beyond it every edge counts as possible.
const mostTries = 3000;
const mostWork = 300_000;

/** Every edge for an attempt with the outcome `giving`, the simplest report first; each edge once. */
export function waysOf(fork: LeavingEdges, giving: PossibleOutcome): readonly Way[] {
  const { edges, open } = fork;
  if (edges.length === 1 && open.length === 1 && isChosenAt(fork.graph, fork.node, silent) === undefined)
    return onlyWays(fork, giving, open);
  // Most nodes have one or two: a map for each outcome of 10,000 nodes would be 30 MB of garbage.
  const found: Way[] = [];
  const has = (edge: Edge | undefined): boolean => found.some((way) => way.edge === edge);
  // If an unconditional edge takes the outcome, the run never ends here.
  const most = edges.length + (open.length > 0 && !giving.broke ? 0 : 1);
  let tries = Math.min(mostTries, Math.ceil(mostWork / (edges.length + 1)));
  for (const words of allEdgeWords(fork, giving)) {
    if (tries-- === 0 || found.length === most) break;
    for (const behind of giving.broke ? [mayAsk(fork), () => false] : [undefined]) {
      const way = choose(fork, giving, words, behind);
      if (!has(way.edge)) found.push(way);
    }
  }
  if (tries < 0 || !fork.sure) {
    for (const edge of edges) {
      if (has(edge)) continue;
      if (edge.condition !== undefined) found.push({ edge, how: 'condition' });
      else if (!giving.broke && (giving.says || edge === open[0])) found.push({ edge, how: 'unconditional' });
    }
  }
  return found;
}

/** The same where one unconditional edge leaves the node: no report decides, and a large graph has few others. */
function onlyWays(fork: LeavingEdges, { broke }: PossibleOutcome, [edge]: readonly Edge[]): readonly Way[] {
  const takes: Way = { edge, how: 'unconditional' };
  if (!broke) return [takes];
  const none: Way = { edge: undefined, how: 'none' };
  return edge !== undefined && mayAsk(fork)(edge) ? [takes, none] : [none];
}

const silent = { label: '', suggested: [] } as const;

/** Every edge of a fan-out that may begin a branch, and the way of a run in which none does. */
export function branchWaysOf(fork: LeavingEdges, giving: PossibleOutcome): readonly Way[] {
  if (giving.status === 'fail') return [{ edge: undefined, how: 'none' }];
  const ways = fork.edges.flatMap((edge) => {
    const alone = leavingEdgesOf(fork.graph, fork.node, [edge]);
    return waysOf(alone, giving).map((way) => ({ ...way, alone }));
  });
  const none = fork.open.length > 0 ? [] : waysOf(fork, giving);
  return [...ways.filter((way) => way.edge !== undefined), ...none.filter((way) => way.edge === undefined)];
}

/** Everything that an attempt may report, as far as it matters to this fork, with every possible context. */
export function* allEdgeWords(fork: LeavingEdges, giving: PossibleOutcome): Generator<EdgeWords> {
  const classes =
    giving.status !== 'fail' ? [undefined] : fork.asksClass ? giving.classes : giving.classes.slice(0, 1);
  for (const context of contexts(fork.keys)) {
    for (const one of classes) {
      for (const report of reports(fork, giving)) yield { ...report, class: one, context };
    }
  }
}

function* reports(
  { labels, open }: LeavingEdges,
  { says, status, answers }: PossibleOutcome,
): Generator<Pick<EdgeWords, 'label' | 'suggested' | 'ownWord'>> {
  if (answers !== undefined) {
    for (const { label, to } of answers) yield { label, suggested: [to] };
    return;
  }
  if (!says) return yield { label: '', suggested: [] };
  for (const label of labels) yield { label, suggested: [] };
  if (status === 'success')
    for (const label of labels) if (label !== '') yield { label, suggested: [], ownWord: true };
  if (open.length < 2) return;
  for (const { label } of open) if (label !== '') yield { label, suggested: [] };
  for (const label of labels) for (const { to } of open) yield { label, suggested: [to] };
}

const noContext: ReadonlyMap<string, string> = new Map();

function* contexts(keys: LeavingEdges['keys']): Generator<ReadonlyMap<string, string>> {
  const [first, ...rest] = keys;
  if (first === undefined) return yield noContext;
  for (const others of contexts(rest))
    for (const value of first.values) yield new Map([[first.key, value], ...others]);
}
