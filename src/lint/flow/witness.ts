/** A way through the graph as a run that can be made: which stage ends how, says what and sets what, so that the router
 *  leads along it. */
import { count, present } from '../../model/attribute.ts';
import type { WitnessStep } from '../../model/diagnostic.ts';
import { reservedKeyIn } from '../../policy/reserved.ts';
import type { Move } from './flow.ts';
import { missedGates } from './gates.ts';
import { isSet } from './giving.ts';
import { allWords, choose, type Fork, type Words } from './ways.ts';

/** A run so far: what the context holds, and what the last stage that was no conditional said. */
type Walk = {
  readonly context: ReadonlyMap<string, string>;
  readonly said: Pick<Words, 'label' | 'suggested' | 'class'>;
};
const nothing: Walk = { context: new Map(), said: { label: '', suggested: [], class: undefined } };

type Spoken = (Words | undefined)[];

// More words than that are not tried for one stretch of the way.
const mostTries = 3000;

/** The steps of a run along `moves`, which follow on each other, ending at the exit that the last one leads to, if it is
 *  one; undefined where no words of its stages are found that lead along it. */
export function witnessOf(moves: readonly Move[]): readonly WitnessStep[] | undefined {
  const words: Spoken = moves.map(({ way }) => way.words);
  const before: Walk[] = [nothing];
  let speaker = -1;
  for (let at = 0; at < moves.length; at++) {
    if (moves[at]?.giving.says === true && moves[at]?.place.passes === undefined) speaker = at;
    if (walkedFrom(moves, at, at, before, words)) continue;
    // Only who speaks can say what leads on; what was walked since then is walked again with the other words.
    if (speaker === -1 || !respoken(moves, speaker, at, before, words)) return undefined;
  }
  return stepsOf(moves, words, before);
}

/** Walks the moves `from` to `to`, both included, filling `before`; false where the router leads elsewhere. */
function walkedFrom(
  moves: readonly Move[],
  from: number,
  to: number,
  before: Walk[],
  words: Spoken,
): boolean {
  for (let at = from; at <= to; at++) {
    const next = walked(moves, at, before[at] ?? nothing, words[at]);
    if (next === undefined) return false;
    before[at + 1] = next;
  }
  return true;
}

/** The run after one more stage; undefined where the router leads elsewhere, or the stage cannot end so. */
function walked(moves: readonly Move[], at: number, walk: Walk, words: Words | undefined): Walk | undefined {
  const move = moves[at];
  if (move === undefined || words === undefined || !mayEnd(moves, at, move)) return undefined;
  const { place, giving, way } = move;
  const own = place.passes === undefined;
  const sets = own && giving.says ? changed(walk, words) : new Map<string, string>();
  if (sets.size > 0 && reservedKeyIn(Object.fromEntries(sets)) !== undefined) return undefined;
  const context = sets.size === 0 ? walk.context : new Map([...walk.context, ...sets]);
  const { label, suggested, class: failureClass } = own ? words : walk.said;
  const said = { label, suggested, class: failureClass };
  return choose(place.fork, giving, { ...said, context }).edge === way.edge ? { context, said } : undefined;
}

/** Whether the stage may be visited once more, and its success may count. */
function mayEnd(moves: readonly Move[], at: number, { place, giving }: Move): boolean {
  const { node } = place;
  const attribute = present(node.attrs, 'max_visits');
  const limit = attribute === undefined ? undefined : count(1).read(attribute.value);
  const earlier = (id: string) => moves.slice(0, at).filter((move) => move.place.node.id === id);
  if (limit?.ok === true && earlier(node.id).length >= limit.value) return false;
  if (giving.status !== 'success' || !isSet(node, 'requires_tool_success')) return true;
  const required = present(node.attrs, 'required_tool_node')?.value.text.trim();
  return required === undefined || earlier(required).at(-1)?.giving.status === 'success';
}

/** The keys that a stage must set so that the context is as its words have it. */
function changed({ context }: Walk, words: Words): ReadonlyMap<string, string> {
  return new Map([...words.context].filter(([key, value]) => (context.get(key) ?? '') !== value));
}

/** Finds other words for the stage at `speaker` with which the way is gone along up to `to`. */
function respoken(
  moves: readonly Move[],
  speaker: number,
  to: number,
  before: Walk[],
  words: Spoken,
): boolean {
  const first = moves[speaker];
  if (first === undefined) return false;
  let tries = mostTries;
  const forks = moves.slice(speaker, to + 1).map(({ place }) => place.fork);
  for (const one of allWords(merged(forks), first.giving)) {
    if (tries-- === 0) return false;
    words[speaker] = one;
    if (walkedFrom(moves, speaker, to, before, words)) return true;
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
  const steps = moves.map(({ place, giving, way, to }, i): WitnessStep => {
    const own = place.passes === undefined ? words[i] : undefined;
    const sets = own === undefined || !giving.says ? [] : [...changed(before[i] ?? nothing, own)];
    return {
      node: place.node.id,
      outcome: giving.status,
      ...(giving.broke ? { broke: true } : {}),
      ...(own?.class === undefined || own.class === 'product' ? {} : { failure_class: own.class }),
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
