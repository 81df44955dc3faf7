/** Which of a node's edges a stage can leave by, asked of the router itself with every word that the stage may say. */
import { byWeightThenName, type Choice, chooseEdge } from '../../dot/choose.ts';
import { evaluate } from '../../dot/condition.ts';
import type { Condition } from '../../model/condition.ts';
import type { Edge } from '../../model/graph.ts';
import type { FailureClass } from '../../model/outcome.ts';
import type { Giving } from './giving.ts';
import { type Comparison, comparisons, contextKey, valuesFor } from './values.ts';

/** What a stage says beside its status, and what the context holds when the router is asked. */
export type Words = {
  readonly label: string;
  readonly suggested: readonly string[];
  readonly class: FailureClass | undefined;
  readonly context: ReadonlyMap<string, string>;
};
const silence: Words = { label: '', suggested: [], class: undefined, context: new Map() };

export type Way = {
  /** Undefined when no edge carries the stage on. */
  readonly edge: Edge | undefined;
  readonly how: Choice['how'];
  /** With these words it is taken; undefined where it may be, and no words are known. */
  readonly words: Words | undefined;
};

/** The edges that leave a node, with all that their conditions look at. */
export type Fork = {
  readonly node: string;
  /** In the order in which ties are broken. */
  readonly edges: readonly Edge[];
  readonly open: readonly Edge[];
  readonly labels: readonly string[];
  readonly asksClass: boolean;
  readonly keys: readonly { readonly key: string; readonly values: readonly string[] }[];
  /** Keys with comparisons whose every outcome is not among their values. */
  readonly unsure: ReadonlySet<string>;
};

export function forkOf(node: string, leaving: readonly Edge[]): Fork {
  const edges = [...leaving].sort(byWeightThenName);
  const compared = new Map<string, Comparison[]>();
  for (const { condition } of edges) if (condition !== undefined) comparisons(condition, compared);
  const unsure = new Set<string>();
  const valued = (key: string, of: readonly Comparison[]) => {
    const { values, sure } = valuesFor(of);
    if (!sure) unsure.add(key);
    return values;
  };
  const labels = compared.get('preferred_label');
  const keys = [...compared]
    .filter(([key]) => !engineKeys.has(key))
    .map(([key, of]) => ({ key, values: valued(key, of) }));
  return {
    node,
    edges,
    open: edges.filter((edge) => edge.condition === undefined),
    labels: labels === undefined ? [''] : valued('preferred_label', labels),
    asksClass: compared.has('failure_class'),
    keys,
    unsure,
  };
}

/** Keys that no stage sets: the engine itself says what they are. */
const engineKeys: ReadonlySet<string> = new Set([
  'outcome',
  'preferred_label',
  'failure_class',
  'current_node',
]);

/** What a key of a condition stands for, as the engine looks it up. */
export function lookup(
  node: string,
  { status }: Pick<Giving, 'status'>,
  words: Words,
): (key: string) => string {
  return (written) => {
    const key = contextKey(written);
    switch (key) {
      case 'outcome':
        return status;
      case 'preferred_label':
        return words.label;
      case 'failure_class':
        return words.class ?? '';
      case 'current_node':
        return node;
      default:
        return words.context.get(key) ?? '';
    }
  };
}

/** The edge that a stage with these words leaves by. */
export function choose(fork: Fork, giving: Pick<Giving, 'status' | 'broke'>, words: Words): Choice {
  const value = lookup(fork.node, giving, words);
  const isTrue = (edge: Edge) => edge.condition !== undefined && evaluate(edge.condition, value);
  return chooseEdge(fork.edges, isTrue, { broke: giving.broke, ...words });
}

// A node with more to try than that is not worth the wait: what was not seen to be impossible counts as possible.
const mostTries = 3000;
const mostWork = 300_000;

/** Every way on for a stage that gives `giving`, the plainest words first; each edge once. */
export function waysOf(fork: Fork, giving: Giving): readonly Way[] {
  const { edges, open } = fork;
  const only = edges[0];
  if (only === undefined || (edges.length === 1 && open.length === 1)) {
    const words = { ...silence, class: giving.classes[0] };
    return only === undefined || giving.broke
      ? [{ edge: undefined, how: 'none', words }]
      : [{ edge: only, how: 'unconditional', words }];
  }
  const found = new Map<Edge | undefined, Way>();
  // Where an unconditional edge carries the stage, something always does.
  const wanted = edges.length + (open.length > 0 && !giving.broke ? 0 : 1);
  let tries = Math.min(mostTries, Math.ceil(mostWork / edges.length));
  for (const words of allWords(fork, giving)) {
    if (tries-- === 0 || found.size === wanted) break;
    const { edge, how } = choose(fork, giving, words);
    if (!found.has(edge)) found.set(edge, { edge, how, words });
  }
  const unsure = tries < 0;
  if (unsure || fork.unsure.size > 0) {
    const wins = mayWin(fork, giving);
    for (const edge of edges) {
      if (found.has(edge)) continue;
      const { condition } = edge;
      const carries = condition !== undefined || (!giving.broke && (giving.says || edge === open[0]));
      if (!carries || !wins(edge)) continue;
      found.set(edge, {
        edge,
        how: condition === undefined ? 'unconditional' : 'condition',
        words: undefined,
      });
    }
  }
  return [...found.values()];
}

/** Everything that a stage may say, as far as it matters here, and every context there may be. */
export function* allWords(fork: Fork, giving: Giving): Generator<Words> {
  const classes =
    giving.status !== 'fail' ? [undefined] : fork.asksClass ? giving.classes : giving.classes.slice(0, 1);
  for (const context of contexts(fork.keys)) {
    for (const one of classes) {
      for (const { label, suggested } of speeches(fork, giving))
        yield { label, suggested, class: one, context };
    }
  }
}

function* speeches({ labels, open }: Fork, { says }: Giving): Generator<Pick<Words, 'label' | 'suggested'>> {
  if (!says) return yield { label: '', suggested: [] };
  for (const label of labels) yield { label, suggested: [] };
  if (open.length < 2) return;
  for (const edge of open) if (edge.label !== '') yield { label: edge.label, suggested: [] };
  for (const label of labels) for (const edge of open) yield { label, suggested: [edge.to] };
}

function* contexts(keys: Fork['keys']): Generator<ReadonlyMap<string, string>> {
  const [first, ...rest] = keys;
  if (first === undefined) return yield new Map();
  for (const others of contexts(rest))
    for (const value of first.values) yield new Map([[first.key, value], ...others]);
}

/** The edges that such a stage may leave by, whatever the context: each whose condition may hold, where none that goes
 *  before it always does. */
function mayWin(fork: Fork, giving: Giving): (edge: Edge) => boolean {
  const classes = fork.asksClass && giving.status === 'fail' ? giving.classes : [undefined];
  const winners = new Set<Edge>();
  for (const one of classes) {
    const value = lookup(fork.node, giving, { ...silence, class: one });
    const known = (written: string) => {
      const key = contextKey(written);
      return engineKeys.has(key) && (key !== 'preferred_label' || !giving.says) ? value : undefined;
    };
    let sure = false;
    for (const edge of fork.edges) {
      if (edge.condition === undefined) continue;
      const holds = verdict(edge.condition, known);
      if (holds !== false) winners.add(edge);
      sure = holds === true;
      if (sure) break;
    }
    if (!sure) for (const edge of fork.open) winners.add(edge);
  }
  return (edge) => winners.has(edge);
}

/** True, false, or undefined where that hangs on keys that nobody knows. */
function verdict(
  condition: Condition,
  known: (key: string) => ((key: string) => string) | undefined,
): boolean | undefined {
  switch (condition.op) {
    case 'not': {
      const of = verdict(condition.of, known);
      return of === undefined ? undefined : !of;
    }
    case 'and':
    case 'or': {
      const left = verdict(condition.left, known);
      const right = verdict(condition.right, known);
      const decides = condition.op === 'or';
      if (left === decides || right === decides) return decides;
      return left === undefined || right === undefined ? undefined : !decides;
    }
    default: {
      const value = known(condition.key);
      return value === undefined ? undefined : evaluate(condition, value);
    }
  }
}
