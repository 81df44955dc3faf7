/** Every cycle has a way out, or a limit set by its author. */
import { present } from '../../model/attribute.ts';
import type { Attributes } from '../../model/graph.ts';
import {
  type Flow,
  flowOf,
  isArrival,
  type Move,
  missesGate,
  type Place,
  retryTarget,
  sentBack,
} from '../flow/flow.ts';
import { success } from '../flow/giving.ts';
import { leadingTo, pathBetween, pathInto, pathTo } from '../flow/search.ts';
import { folded, type Pending, proven } from '../flow/words.ts';
import { finding, type Rule, type Subject } from '../rule.ts';

const most = 20;

const graphLimits = ['default_max_visits', 'max_steps', 'max_wall', 'max_cost_usd', 'max_tokens'];
const nodeLimits = ['max_visits', 'max_wall'];
const hasOneOf = (attrs: Attributes, keys: readonly string[]): boolean =>
  keys.some((key) => present(attrs, key) !== undefined);
const isLimited = ({ node }: Place): boolean => hasOneOf(node.attrs, nodeLimits);

export const endlessCycle: Rule = (subject) => {
  const { graph } = subject;
  const flow = flowOf(subject);
  if (flow === undefined || hasOneOf(graph.attrs, graphLimits)) return [];
  const ends = flow.places.filter(
    (place) => isLimited(place) || place.moves.every(({ to }) => to === undefined),
  );
  const free = leadingTo(flow, ends);
  const caught = new Set(flow.places.filter((place) => !free.has(place)));
  const pending: Pending[] = [];
  for (const place of flow.places) {
    if (!caught.has(place)) continue;
    const round = pathInto(place, place);
    const edge = round?.at(-1)?.way.edge;
    if (round === undefined || edge === undefined) continue;
    // Report once for all places that follow.
    leave(caught, place);
    const ids = [...round.map((move) => move.place.node.id), place.node.id];
    const shown = ids.length > 8 ? [...ids.slice(0, 5), '…', ...ids.slice(-2)] : ids;
    const found = finding(graph, 'endless-cycle', 'warning', {
      message: `only the default limit ends the cycle ${shown.join(' -> ')}: no edge that can be taken leads out of it`,
      span: edge.span,
      fix: 'give it a way out that can be taken, such as an edge with condition="outcome=success", or a limit: max_visits on one of its nodes',
    });
    const make = () => {
      const path = pathTo(flow, place);
      return proven(found, path === undefined ? undefined : [...path, ...round]);
    };
    pending.push({ name: place.node.id, make });
  }
  return [...folded(pending, most), ...folded(missedForGood(subject, flow), most)];
};

function leave(caught: Set<Place>, place: Place): void {
  const open = [place];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (caught.delete(next)) for (const { to } of next.moves) if (to !== undefined) open.push(to);
  }
}

/** Goal gates that cannot be reached from their retry target: once unmet, they stay unmet. */
function missedForGood({ graph }: Subject, flow: Flow): readonly Pending[] {
  return flow.places.flatMap((gate) => {
    const target = retryTarget(gate.node, graph);
    if (target === undefined) return [];
    const back = flow.places.find(
      ({ node, passes }) => node.id === target && (passes === undefined || passes.key === success.key),
    );
    if (back === undefined || back === gate || isLimited(back) || pathInto(back, gate) !== undefined)
      return [];
    const may = (move: Move) => move.to !== undefined && !isLimited(move.to) && !missesGate(move);
    const again = pathBetween(back, may, isArrival);
    const exit = again?.at(-1)?.to;
    const path = pathTo(flow, gate);
    const miss = gate.moves.filter(missesGate).flatMap((move) => toExit(move))[0];
    if (again === undefined || exit === undefined || path === undefined || miss === undefined) return [];
    const found = finding(graph, 'endless-cycle', 'warning', {
      message: `once the goal gate "${gate.node.id}" is unmet, only the default limit ends the cycle from the exit "${exit.node.id}" back to "${back.node.id}": no path leads from there to "${gate.node.id}" again`,
      span: present(gate.node.attrs, 'goal_gate')?.keySpan ?? gate.node.span,
      fix: `name a retry_target from which "${gate.node.id}" is reached again, or give "${back.node.id}" max_visits`,
    });
    const moves = [...path, ...miss, sentBack(miss, back), ...again, sentBack(again, back)];
    return [{ name: gate.node.id, make: () => proven(found, moves) }];
  });
}

/** The move and those after it to a success exit, if there are any. */
function toExit(miss: Move): readonly (readonly Move[])[] {
  if (isArrival(miss)) return [[miss]];
  const on =
    miss.to && pathBetween(miss.to, (move) => !missesGate(move) && move.place !== miss.place, isArrival);
  return on === undefined ? [] : [[miss, ...on]];
}
