/** Turns a path through the graph into an example run: outcomes, reports and context keys with which the router follows
 *  the path. */

import { regionsAround } from '../../core/branches.ts';
import type { WitnessStep } from '../../core/diagnostic.ts';
import type { Node } from '../../core/graph.ts';
import { joinRulesIn } from '../../core/join.ts';
import { type FailureClass, failed } from '../../core/outcome.ts';
import { reservedKeyIn } from '../../core/policy/reserved-keys.ts';
import { nextAttempt, retryPolicyOf } from '../../core/retry.ts';
import { graphLimits } from '../../core/settings/limits.ts';
import { allEdgeWords, choose, type EdgeWords, leavingEdgesOf } from './edges.ts';
import { type Move, meets, missedGate } from './reach.ts';

const silence: EdgeWords = { label: '', suggested: [], class: undefined, context: new Map() };
// The most dead ends that are tried for one path.
const mostTries = 3000;

/** The steps of a run along `moves`, a connected path, and the exit at its end, if any; undefined if no reports are found
 *  that lead along it. */
export function witnessOf(moves: readonly Move[]): readonly WitnessStep[] | undefined {
  if (!moves.every((_, at) => mayEnd(moves, at))) return undefined;
  const words: EdgeWords[] = [];
  // How many reports of each move were tried: the generators of a path of 10,000 moves would take 50 MB.
  const tried: number[] = [];
  let open: Iterator<EdgeWords, unknown> | undefined;
  let tries = mostTries;
  while (words.length < moves.length) {
    const at = words.length;
    open ??= untried(candidates(moves, at, words[at - 1] ?? silence), tried[at] ?? 0);
    const next = open.next();
    const move = moves[at];
    if (next.done !== true && move !== undefined) {
      tried[at] = (tried[at] ?? 0) + 1;
      if (choose(move.way.alone ?? move.place.fork, move.giving, next.value).edge !== move.way.edge) continue;
      words.push(next.value);
    } else {
      // Go back: an earlier node must report something else.
      tried.length = at;
      if (at === 0 || tries-- === 0) return undefined;
      words.pop();
    }
    open = undefined;
  }
  return stepsOf(moves, words);
}

/** What is left of `all` after its first `count`. */
function untried<T>(all: Iterator<T, unknown>, count: number): Iterator<T, unknown> {
  for (let at = 0; at < count; at++) all.next();
  return all;
}

const isOwn = ({ place }: Move): boolean => place.passes === undefined || place.joins === true;
const speaks = (move: Move): boolean => isOwn(move) && move.giving.says;

/** The possible reports of the node of a move, the simplest first, with the context after it; a conditional passes its
 *  report on. A node that reports values may set every relevant key up to the next such node. */
function* candidates(moves: readonly Move[], at: number, before: EdgeWords): Generator<EdgeWords> {
  const move = moves[at];
  if (move === undefined) return;
  if (!isOwn(move)) return yield before;
  const { fork: own } = move.place;
  const edges = [...own.edges];
  for (let next = at + 1; ; next++) {
    const other = moves[next];
    if (other === undefined || speaks(other) || (isOwn(other) && !speaks(move))) break;
    edges.push(...other.place.fork.edges);
  }
  const fork = edges.length === own.edges.length ? own : leavingEdgesOf(own.graph, own.node, edges);
  for (const words of allEdgeWords({ ...fork, keys: [] }, move.giving))
    yield { ...words, context: before.context };
  if (!speaks(move)) return;
  for (const words of allEdgeWords(fork, move.giving)) {
    const sets = changed(before.context, words.context);
    if (reservedKeyIn(Object.fromEntries(sets)) !== undefined) continue;
    yield { ...words, context: new Map([...before.context, ...sets]) };
  }
}

/** The values of `after` that differ from `before`. */
const changed = (
  before: EdgeWords['context'],
  after: EdgeWords['context'],
): readonly (readonly [string, string])[] =>
  [...after].filter(([key, value]) => (before.get(key) ?? '') !== value);

/** Whether a branch has failed that would have to succeed for the success of the join. */
function fails(before: Move | undefined, { place }: Move): boolean {
  if (before?.giving.status !== 'fail' || !meets(before)) return false;
  const { graph } = place.fork;
  const [region] = regionsAround(graph, before.place.node.id);
  if (region === undefined) return false;
  const { policy } = joinRulesIn(graph, region);
  return region.branches.length === 1 || policy === 'wait_all' || policy === 'all_success';
}

/** Whether this outcome is possible: `requires_tool_success` can turn success into a failure. */
function mayEnd(moves: readonly Move[], at: number): boolean {
  const move = moves[at];
  if (move?.giving.status !== 'success') return true;
  if (fails(moves[at - 1], move)) return false;
  if (!move.place.node.settings.requires_tool_success) return true;
  const { required_tool_node: required } = move.place.node.settings;
  if (required === undefined) return true;
  return moves.slice(0, at).findLast(({ place }) => place.node.id === required)?.giving.status === 'success';
}

function stepsOf(moves: readonly Move[], words: readonly EdgeWords[]): readonly WitnessStep[] {
  const steps = moves.map((move, at): WitnessStep => {
    const { place, giving, way } = move;
    const {
      label,
      ownWord,
      suggested,
      class: failure,
      context,
    } = isOwn(move) ? (words[at] ?? silence) : silence;
    const sets = isOwn(move) ? changed(words[at - 1]?.context ?? new Map(), context) : [];
    const attempts = failure === undefined || !isOwn(move) ? 1 : attemptsOf(place.node, failure);
    const isPlain = failure === 'product' && !giving.broke && !wantsClass(moves, at);
    return {
      node: place.node.id,
      outcome: giving.status,
      ...(giving.broke ? { broke: true } : {}),
      ...(isOwn(move) ? {} : { passes: true }),
      ...(failure === undefined || isPlain ? {} : { failure_class: failure }),
      ...(label === '' ? {} : { preferred_label: label }),
      ...(ownWord === undefined ? {} : { own_word: true }),
      ...(attempts === 1 ? {} : { attempts }),
      ...(suggested.length === 0 ? {} : { suggested_ids: suggested }),
      ...(sets.length === 0 ? {} : { sets: Object.fromEntries(sets) }),
      edge: way.edge === undefined ? null : { to: way.edge.to, condition: way.edge.conditionText },
    };
  });
  const last = moves.at(-1)?.to;
  return last?.type === 'exit' && !missedGate(moves)
    ? [...steps, { node: last.node.id, outcome: 'success', exit: true, edge: null }]
    : steps;
}

/** How often a node is tried until a failure of this class is final. */
function attemptsOf(node: Node, failure: FailureClass): number {
  const policy = retryPolicyOf(node, graphLimits.park_after.otherwise);
  let attempt = 1;
  while (attempt < mostTries && nextAttempt(policy, attempt, failed('', failure)).again) attempt++;
  return attempt;
}

/** After a tool failure, an agent with `allowed_write_paths` only starts if the class is `product`. */
function wantsClass(moves: readonly Move[], at: number): boolean {
  const next = moves.find((move, i) => i > at && isOwn(move))?.place.node;
  return (
    moves[at]?.place.type === 'tool' && next !== undefined && next.settings.allowed_write_paths !== undefined
  );
}
