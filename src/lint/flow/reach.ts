/** The possible paths of runs through a graph: every reachable node, and every way to leave it. */
import { regionsAround } from '../../core/branches.ts';
import { isGate, retryTarget } from '../../core/goal-gates.ts';
import { type Edge, fanOutType, type Graph, type Node } from '../../core/graph.ts';
import { joinOutcomes, withJoinFailure } from '../../core/join-outcomes.ts';
import { anyOutcome, type PossibleOutcome, plainSuccess } from '../../core/possible-outcomes.ts';
import { restartsAt } from '../../core/rounds.ts';
import { asksHowItWent } from '../../core/routing.ts';
import { nodesOf, type Subject } from '../rule.ts';
import { branchWaysOf, type LeavingEdges, leavingEdgesOf, type Way, waysOf } from './edges.ts';

/** A node as runs reach it. A conditional passes an outcome on: it has one place for each outcome. */
export type FlowPlace = {
  readonly node: Node;
  readonly type: string | undefined;
  readonly givings: readonly PossibleOutcome[];
  /** The outcome that a conditional passes on; undefined for other nodes. */
  readonly passes: PossibleOutcome | undefined;
  /** A conditional in which branches meet: it passes on what became of them. */
  readonly joins?: true;
  readonly fork: LeavingEdges;
  moves: readonly Move[];
};

/** One outcome of a node and the edge that it takes. */
export type Move = {
  readonly place: FlowPlace;
  readonly giving: PossibleOutcome;
  readonly way: Way;
  /** Undefined if no edge takes the outcome. */
  readonly to: FlowPlace | undefined;
};

export type Flow = {
  readonly start: FlowPlace;
  /** In breadth-first order from the start. */
  readonly places: readonly FlowPlace[];
  /** The moves into each place. */
  readonly before: ReadonlyMap<FlowPlace, readonly Move[]>;
  readonly routes: ReadonlySet<Edge>;
  /** Ids of the reachable nodes. */
  readonly reached: ReadonlySet<string>;
};

const known = new WeakMap<Subject, { readonly flow: Flow | undefined }>();

/** The flow of a graph, computed once; undefined if its start, its exits or its conditions are invalid. */
export function flowOf(subject: Subject): Flow | undefined {
  const found = known.get(subject) ?? { flow: explore(subject) };
  known.set(subject, found);
  return found.flow;
}

/** The possible outcomes of a node, the simplest first; a conditional passes its outcome on, a join may fail before it runs as itself. `retry` is never among those of our
 *  types: exhausted retries end in failure, or in partial success with `allow_partial`. */
const outcomesOf = ({ graph, kindOf }: Subject, node: Node): readonly PossibleOutcome[] =>
  withJoinFailure(graph, node, kindOf.get(node.id)?.outcomes?.(node, graph) ?? anyOutcome);

/** Whether a move ends a branch: what became of it is the join's to say. */
export const meets = ({ place, to }: Pick<Move, 'place' | 'to'>): boolean =>
  to !== undefined && meetsAt(place.fork.graph, place.node.id, to.node.id);

function meetsAt(graph: Graph, from: string, to: string): boolean {
  const [region] = regionsAround(graph, from);
  return region?.join === to;
}

function explore(subject: Subject): Flow | undefined {
  const { graph, outgoing } = subject;
  const [start, ...more] = nodesOf(subject, 'start');
  if (start === undefined || more.length > 0 || nodesOf(subject, 'exit').length === 0) return undefined;
  if (graph.edges.some((edge) => edge.condition === undefined && edge.conditionText.trim() !== ''))
    return undefined;

  const forks = new Map<string, LeavingEdges>();
  const places: FlowPlace[] = [];
  const byKey = new Map<string, FlowPlace>();
  const placeOf = (node: Node, given: PossibleOutcome, joins = false): FlowPlace => {
    const { type } = node;
    const passes = type === 'conditional' ? given : undefined;
    const key = passes === undefined ? node.id : `${node.id} ${passes.key}${joins ? ' joined' : ''}`;
    const old = byKey.get(key);
    if (old !== undefined) return old;
    const fork = forks.get(node.id) ?? leavingEdgesOf(graph, node.id, outgoing.get(node.id) ?? []);
    forks.set(node.id, fork);
    const givings = passes === undefined ? outcomesOf(subject, node) : [passes];
    const joined = joins && passes !== undefined ? { joins: true as const } : {};
    const made: FlowPlace = { node, type, givings, passes, ...joined, fork, moves: [] };
    byKey.set(key, made);
    places.push(made);
    return made;
  };

  const routes = new Set<Edge>();
  const movesOf = (place: FlowPlace): Move[] =>
    place.givings.flatMap((giving) =>
      (place.type === fanOutType ? branchWaysOf : waysOf)(place.fork, giving).flatMap((way): Move[] => {
        if (way.edge !== undefined) routes.add(way.edge);
        const node = graph.nodes.get(way.edge?.to ?? '');
        const move = (to: FlowPlace | undefined): Move => ({ place, giving, way, to });
        if (node === undefined) return [move(undefined)];
        if (!meetsAt(graph, place.node.id, node.id)) return [move(placeOf(node, giving))];
        const results = node.type === 'conditional' ? joinOutcomes(graph, node) : [giving];
        return results.map((one) => move(placeOf(node, one, true)));
      }),
    );
  const first = placeOf(start, plainSuccess);
  for (let next = 0; next < places.length; next++) {
    const place = places[next];
    if (place === undefined) break;
    if (place.type !== 'exit') place.moves = movesOf(place);
    const target = graph.nodes.get(retryTarget(graph, place.node) ?? '');
    if (target === undefined) continue;
    // An exit sends the run there if the gate is unmet, and the gate itself if no edge takes its failure.
    placeOf(target, plainSuccess);
    for (const move of place.moves)
      if (move.way.edge === undefined && !isGood(move)) placeOf(target, move.giving);
  }
  const before = new Map(places.map((place) => [place, [] as Move[]]));
  for (const move of places.flatMap(({ moves }) => moves))
    if (move.to !== undefined) before.get(move.to)?.push(move);
  return { start: first, places, before, routes, reached: new Set(places.map(({ node }) => node.id)) };
}

const isGood = ({ giving }: Move): boolean =>
  giving.status === 'success' || giving.status === 'partial_success';

/** A move that leaves a goal gate unmet. */
export const missesGate = (move: Move): boolean => isGate(move.place.node) && !isGood(move);

/** A move into an exit that ends the run in success, unless a goal gate is unmet. A condition forgives a failure if it asks for the
 *  outcome; one on another key only where that key is set, which is not known here. */
export const isArrival = ({ to, giving, way }: Move): boolean =>
  to?.type === 'exit' &&
  to.node.settings.outcome !== 'fail' &&
  (giving.status !== 'fail' ||
    (way.how === 'condition' && way.edge !== undefined && asksHowItWent(way.edge)));

/** A move that begins a new round, in which earlier failures and goal gates do not count. */
export const restarts = ({ way, to }: Pick<Move, 'way' | 'to'>): boolean => restartsAt(way.edge, to);

/** Whether a goal gate is unmet after these moves: the last execution of each in the last round counts. */
export function missedGate(moves: readonly Move[]): boolean {
  const round = moves.slice(moves.findLastIndex(restarts) + 1);
  const last = new Map(round.map((move) => [move.place.node.id, move]));
  return [...last.values()].some(missesGate);
}

/* Shortest paths between places. */

/** The moves from `from` to the nearest place for which `ends` is true; undefined if there are none. Only moves allowed
 *  by `may` are used. `spend` is called for every visited place and ends the search by returning false. */
export function pathBetween(
  from: FlowPlace,
  may: (move: Move) => boolean,
  ends: (move: Move) => boolean,
  spend: () => boolean = () => true,
): readonly Move[] | undefined {
  const came = new Map<FlowPlace, Move | undefined>([[from, undefined]]);
  const open = [from];
  for (let next = 0; next < open.length && spend(); next++) {
    const place = open[next];
    if (place === undefined) break;
    for (const move of place.moves) {
      const { to } = move;
      if (to === undefined) continue;
      const isEnd = ends(move);
      // Most outcomes of a node lead to one place: `may` costs more than to see that.
      if ((!isEnd && came.has(to)) || !may(move)) continue;
      if (isEnd) return back(came, move);
      came.set(to, move);
      open.push(to);
    }
  }
  return undefined;
}

/** The moves from `from` to `place`, at least one; undefined if there are none. */
export const pathInto = (from: FlowPlace, place: FlowPlace): readonly Move[] | undefined =>
  pathBetween(
    from,
    () => true,
    ({ to }) => to === place,
  );

/** The moves from the start to `place`; undefined if only an unmet goal gate leads there. */
export const pathTo = ({ start }: Flow, place: FlowPlace): readonly Move[] | undefined =>
  place === start ? [] : pathInto(start, place);

/** `ends` and every place from which moves allowed by `may` lead to one of them. */
export function leadingTo(
  { before }: Flow,
  ends: readonly FlowPlace[],
  may: (move: Move) => boolean = () => true,
): ReadonlySet<FlowPlace> {
  const found = new Set<FlowPlace>();
  const open = [...ends];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (found.has(place)) continue;
    found.add(place);
    for (const move of before.get(place) ?? []) if (may(move)) open.push(move.place);
  }
  return found;
}

function back(came: ReadonlyMap<FlowPlace, Move | undefined>, last: Move): readonly Move[] {
  const path = [last];
  for (let move = came.get(last.place); move !== undefined; move = came.get(move.place)) path.push(move);
  return path.reverse();
}
