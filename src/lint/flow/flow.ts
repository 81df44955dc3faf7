/** Where runs of a graph can go: every stage they can come to, and every way on from there. */
import type { Edge, Node } from '../../model/graph.ts';
import { nodesOf, type Subject } from '../rule.ts';
import { backFrom, retryTargets } from './gates.ts';
import { type Giving, givenByExit, givingsOf } from './giving.ts';
import { type Fork, forkOf, type Way, waysOf } from './ways.ts';

/** A node as runs come to it. A conditional passes on what it is given: it is one place for each of that. */
export type Place = {
  readonly node: Node;
  readonly type: string | undefined;
  readonly givings: readonly Giving[];
  /** What a conditional was given; undefined for all other nodes. */
  readonly passes: Giving | undefined;
  readonly fork: Fork;
  /** The last move of the shortest way here; undefined at the start, and where only exits send runs. */
  from: Move | undefined;
  /** The whole way to a place where only exits send runs, since a goal gate is missed. */
  sent: readonly Move[] | undefined;
  moves: readonly Move[];
};

/** A stage that ends in a certain way and leaves by a certain edge. */
export type Move = {
  readonly place: Place;
  readonly giving: Giving;
  readonly way: Way;
  /** Undefined where no edge carries it on. */
  readonly to: Place | undefined;
};

export type Flow = {
  readonly start: Place;
  /** In the order in which a walk from the start finds them. */
  readonly places: readonly Place[];
  readonly taken: ReadonlySet<Edge>;
  /** Nodes with at least one place. */
  readonly reached: ReadonlySet<string>;
  /** What leaves each node, also where no run comes. */
  readonly fork: (node: string) => Fork;
};

const known = new WeakMap<Subject, { readonly flow: Flow | undefined }>();

/** The flow of a graph, found once; undefined for one whose runs cannot be followed: its start, its exits or its
 *  conditions are wrong. */
export function flowOf(subject: Subject): Flow | undefined {
  const found = known.get(subject) ?? { flow: explore(subject) };
  known.set(subject, found);
  return found.flow;
}

function explore(subject: Subject): Flow | undefined {
  const { graph, kindOf, outgoing } = subject;
  const starts = nodesOf(subject, 'start');
  const [first] = starts;
  if (first === undefined || starts.length > 1 || nodesOf(subject, 'exit').length === 0) return undefined;
  if (graph.edges.some(unread)) return undefined;

  const forks = new Map<string, Fork>();
  const fork = (id: string): Fork => {
    const made = forks.get(id) ?? forkOf(id, outgoing.get(id) ?? []);
    forks.set(id, made);
    return made;
  };
  const places: Place[] = [];
  const byKey = new Map<string, Place>();
  const placeOf = (node: Node, given: Giving | undefined, from: Move | undefined): Place => {
    const type = kindOf.get(node.id)?.type;
    const passes = type === 'conditional' ? given : undefined;
    const key = passes === undefined ? node.id : `${node.id} ${passes.key}`;
    const old = byKey.get(key);
    if (old !== undefined) return old;
    const givings = passes === undefined ? givingsOf(node, type) : [passes];
    const made: Place = {
      node,
      type,
      givings,
      passes,
      fork: fork(node.id),
      from,
      sent: undefined,
      moves: [],
    };
    byKey.set(key, made);
    places.push(made);
    return made;
  };

  const start = placeOf(first, undefined, undefined);
  const taken = new Set<Edge>();
  const targets = retryTargets(graph);
  for (let next = 0; next < places.length || jumped(); next++) {
    const place = places[next];
    if (place === undefined) break;
    if (place.type === 'exit') continue;
    const moves: Move[] = [];
    for (const giving of place.givings) {
      for (const way of waysOf(place.fork, giving)) {
        const { edge } = way;
        const node = edge === undefined ? undefined : graph.nodes.get(edge.to);
        const move: { -readonly [K in keyof Move]: Move[K] } = { place, giving, way, to: undefined };
        if (edge !== undefined) taken.add(edge);
        if (node !== undefined) move.to = placeOf(node, giving, move);
        moves.push(move);
      }
    }
    place.moves = moves;
  }
  /** Exits send runs back to the retry targets of goal gates, where no edge may lead. True when one is new. */
  function jumped(): boolean {
    const before = places.length;
    for (const [id, target] of targets) {
      const gate = byKey.get(id);
      const node = graph.nodes.get(target);
      if (gate === undefined || node === undefined) continue;
      const known = places.length;
      const made = placeOf(node, givenByExit, undefined);
      const path = places.length > known ? pathTo(gate) : undefined;
      const back = path === undefined ? undefined : backFrom(gate, made, path);
      if (path !== undefined && back !== undefined) made.sent = [...path, ...back];
    }
    return places.length > before;
  }
  return { start, places, taken, reached: new Set(places.map(({ node }) => node.id)), fork };
}

const unread = (edge: Edge): boolean => edge.condition === undefined && edge.conditionText.trim() !== '';

/** The moves from the start to `place`; undefined where it takes several missed goal gates to come there. */
export function pathTo(place: Place): readonly Move[] | undefined {
  const path: Move[] = [];
  let at = place;
  for (; at.from !== undefined; at = at.from.place) path.push(at.from);
  path.reverse();
  if (at.sent !== undefined) return [...at.sent, ...path];
  return at.type === 'start' ? path : undefined;
}
