/** A way through the graph as a run that can be made: which stage ends how, says what and sets what, so that the router
 *  leads along it. */
import { count, paths, present } from '../../model/attribute.ts';
import type { LastFailure } from '../../model/checkpoint.ts';
import type { WitnessStep } from '../../model/diagnostic.ts';
import type { Graph } from '../../model/graph.ts';
import { reservedKeyIn } from '../../policy/reserved.ts';
import { unfixableSource } from '../../policy/unfixable.ts';
import type { Move } from './flow.ts';
import { missedGates } from './gates.ts';
import { isSet } from './giving.ts';
import { allWords, choose, type Fork, type Words } from './ways.ts';

/** A run so far: what the context holds, and what the last stage that was no conditional said. */
type Walk = {
  readonly context: ReadonlyMap<string, string>;
  readonly said: Pick<Words, 'label' | 'suggested' | 'class'>;
  /** The failure that no later success has settled, and the number of its move. */
  readonly last: { readonly failure: LastFailure; readonly at: number } | undefined;
  /** Moves that call their failure the product's in so many words: without them no agent would start. */
  readonly product: ReadonlySet<number>;
};
const nothing: Walk = {
  context: new Map(),
  said: { label: '', suggested: [], class: undefined },
  last: undefined,
  product: new Set(),
};

/** The moves of a run, and how often each of their nodes was visited before. */
type Road = { readonly graph: Graph; readonly moves: readonly Move[]; readonly earlier: readonly number[] };

function roadOf(graph: Graph, moves: readonly Move[]): Road {
  const visits = new Map<string, number>();
  const earlier = moves.map(({ place: { node } }) => {
    const before = visits.get(node.id) ?? 0;
    visits.set(node.id, before + 1);
    return before;
  });
  return { graph, moves, earlier };
}

type Spoken = (Words | undefined)[];

// More words than that are not tried for one stretch of the way.
const mostTries = 3000;

/** The steps of a run along `moves`, which follow on each other, ending at the exit that the last one leads to, if it is
 *  one; undefined where no words of its stages are found that lead along it. */
export function witnessOf(graph: Graph, moves: readonly Move[]): readonly WitnessStep[] | undefined {
  const words: Spoken = moves.map(({ way }) => way.words);
  const road = roadOf(graph, moves);
  const before: Walk[] = [nothing];
  let speaker = -1;
  for (let at = 0; at < moves.length; at++) {
    if (moves[at]?.giving.says === true && moves[at]?.place.passes === undefined) speaker = at;
    if (walkedFrom(road, at, at, before, words)) continue;
    // Only who speaks can say what leads on; what was walked since then is walked again with the other words.
    if (speaker === -1 || !respoken(road, speaker, at, before, words)) return undefined;
  }
  return stepsOf(moves, words, before);
}

/** Walks the moves `from` to `to`, both included, filling `before`; false where the router leads elsewhere. */
function walkedFrom(road: Road, from: number, to: number, before: Walk[], words: Spoken): boolean {
  for (let at = from; at <= to; at++) {
    const next = walked(road, at, before[at] ?? nothing, words[at]);
    if (next === undefined) return false;
    before[at + 1] = next;
  }
  return true;
}

/** The run after one more stage; undefined where the router leads elsewhere, or the stage cannot end so. */
function walked(road: Road, at: number, walk: Walk, words: Words | undefined): Walk | undefined {
  const move = road.moves[at];
  if (move === undefined || words === undefined || !mayEnd(road, at, move)) return undefined;
  const product = started(road, move, walk);
  if (product === undefined) return undefined;
  const { place, giving, way } = move;
  const own = place.passes === undefined;
  const sets = own && giving.says ? changed(walk, words) : new Map<string, string>();
  if (sets.size > 0 && reservedKeyIn(Object.fromEntries(sets)) !== undefined) return undefined;
  const context = sets.size === 0 ? walk.context : new Map([...walk.context, ...sets]);
  const { label, suggested, class: failureClass } = own ? words : walk.said;
  const said = { label, suggested, class: failureClass };
  if (choose(place.fork, giving, { ...said, context }).edge !== way.edge) return undefined;
  return { context, said, product, last: standing(at, move, walk, said.class) };
}

/** The moves that call their failure the product's, once the stage has started; undefined where the run ends before, since
 *  its agent cannot mend what has failed. */
function started({ graph }: Road, { place }: Move, { last, product }: Walk): ReadonlySet<number> | undefined {
  if (place.type !== 'codergen' || last === undefined) return product;
  const scope = present(place.node.attrs, 'allowed_write_paths');
  const read = scope === undefined ? undefined : paths().read(scope.value);
  const stops = (failure: LastFailure) =>
    unfixableSource(graph, place.node, read?.ok === true ? read.value : [], failure) !== undefined;
  if (!stops(last.failure)) return product;
  const said = { ...last.failure, class_said: true };
  return said.class !== 'product' || stops(said) ? undefined : new Set([...product, last.at]);
}

/** The failure that stands after a move, as the engine keeps it. */
function standing(
  at: number,
  { place, giving }: Move,
  { last }: Walk,
  failureClass: LastFailure['class'] | undefined,
): Walk['last'] {
  const { node, type, passes } = place;
  if (passes !== undefined || type === 'start' || type === 'exit') return last;
  if (giving.status === 'fail') {
    const of = failureClass ?? 'product';
    const failure: LastFailure = {
      node: node.id,
      node_type: type ?? '',
      class: of,
      class_said: type !== 'codergen' && of !== 'product',
      reason: '',
      exit_code: null,
      model: null,
      executable_success_since: false,
    };
    return { failure, at };
  }
  if (last === undefined || giving.status === 'skipped') return last;
  if (last.failure.node === node.id || (type === 'verification' && giving.status === 'success'))
    return undefined;
  if (giving.status !== 'success') return last;
  return { ...last, failure: { ...last.failure, executable_success_since: true } };
}

/** Whether the stage may be visited once more, and its success may count. */
function mayEnd({ graph, moves, earlier }: Road, at: number, { place, giving }: Move): boolean {
  const { node } = place;
  const attribute = present(node.attrs, 'max_visits') ?? present(graph.attrs, 'default_max_visits');
  const limit = attribute === undefined ? undefined : count(1).read(attribute.value);
  if (limit?.ok === true && (earlier[at] ?? 0) >= limit.value) return false;
  // A verification runs a plan that a stage before it has set.
  if (place.type === 'verification' && (giving.status === 'success' || giving.broke)) {
    const first = moves.findIndex((move) => move.giving.says && move.place.passes === undefined);
    if (first === -1 || first >= at) return false;
  }
  if (giving.status !== 'success' || !isSet(node, 'requires_tool_success')) return true;
  const required = present(node.attrs, 'required_tool_node')?.value.text.trim();
  if (required === undefined) return true;
  const latest = moves.slice(0, at).filter((move) => move.place.node.id === required);
  return latest.at(-1)?.giving.status === 'success';
}

/** The keys that a stage must set so that the context is as its words have it. */
function changed({ context }: Walk, words: Words): ReadonlyMap<string, string> {
  return new Map([...words.context].filter(([key, value]) => (context.get(key) ?? '') !== value));
}

/** Finds other words for the stage at `speaker` with which the way is gone along up to `to`. */
function respoken(road: Road, speaker: number, to: number, before: Walk[], words: Spoken): boolean {
  const { moves } = road;
  const first = moves[speaker];
  if (first === undefined) return false;
  let tries = mostTries;
  const forks = moves.slice(speaker, to + 1).map(({ place }) => place.fork);
  for (const one of allWords(merged(forks), first.giving)) {
    if (tries-- === 0) return false;
    words[speaker] = one;
    if (walkedFrom(road, speaker, to, before, words)) return true;
  }
  return false;
}

function merged(forks: readonly Fork[]): Fork {
  const keys = new Map<string, Set<string>>();
  for (const fork of forks) {
    for (const { key, values } of fork.keys) keys.set(key, new Set([...(keys.get(key) ?? []), ...values]));
  }
  return {
    node: '',
    edges: [],
    open: forks.flatMap(({ open }) => open),
    labels: [...new Set(forks.flatMap(({ labels }) => labels))],
    asksClass: forks.some(({ asksClass }) => asksClass),
    keys: [...keys].map(([key, values]) => ({ key, values: [...values] })),
    unsure: new Set(),
  };
}

function stepsOf(moves: readonly Move[], words: Spoken, before: readonly Walk[]): readonly WitnessStep[] {
  const product = before.at(-1)?.product ?? nothing.product;
  const steps = moves.map(({ place, giving, way, to }, i): WitnessStep => {
    const own = place.passes === undefined ? words[i] : undefined;
    const sets = own === undefined || !giving.says ? [] : [...changed(before[i] ?? nothing, own)];
    return {
      node: place.node.id,
      outcome: giving.status,
      ...(giving.broke ? { broke: true } : {}),
      ...(own?.class === undefined || (own.class === 'product' && !giving.broke && !product.has(i))
        ? {}
        : { failure_class: own.class }),
      ...(own === undefined || own.label === '' ? {} : { preferred_label: own.label }),
      ...(own === undefined || own.suggested.length === 0 ? {} : { suggested_ids: own.suggested }),
      ...(sets.length === 0 ? {} : { sets: Object.fromEntries(sets) }),
      ...(place.type === 'exit'
        ? { exit: true, ...(to === undefined ? {} : { retry_target: to.node.id }) }
        : {}),
      edge: way.edge === undefined ? null : { to: way.edge.to, condition: way.edge.conditionText },
    };
  });
  const last = moves.at(-1)?.to;
  // An exit that a missed goal gate sends the run back from is no end.
  return last?.type === 'exit' && missedGates(moves).length === 0
    ? [...steps, { node: last.node.id, outcome: 'success', exit: true, edge: null }]
    : steps;
}
