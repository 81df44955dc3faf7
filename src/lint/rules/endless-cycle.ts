/** Every cycle has a way out, or a limit that its author has set. */
import { present } from '../../model/attribute.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import type { Attributes } from '../../model/graph.ts';
import { cyclesOf } from '../flow/components.ts';
import { type Flow, flowOf, type Place, pathTo } from '../flow/flow.ts';
import { backFrom, isArrival, jump, retryTargets } from '../flow/gates.ts';
import { givenByExit } from '../flow/giving.ts';
import { wayTo } from '../flow/search.ts';
import { folded, provenBy, type Told } from '../flow/words.ts';
import { finding, type Rule, type Subject } from '../rule.ts';

const most = 20;

const graphLimits = ['default_max_visits', 'max_steps', 'max_wall', 'max_cost_usd', 'max_tokens'];
const nodeLimits = ['max_visits', 'max_wall'];
const says = (attrs: Attributes, keys: readonly string[]): boolean =>
  keys.some((key) => present(attrs, key) !== undefined);

export const endlessCycle: Rule = (subject) => {
  const flow = flowOf(subject);
  if (flow === undefined || says(subject.graph.attrs, graphLimits)) return [];
  const free = (place: Place): boolean => !says(place.node.attrs, nodeLimits);
  const followers = ({ moves }: Place) =>
    moves.flatMap(({ to }) => (to !== undefined && free(to) ? [to] : []));
  const cycles = cyclesOf(flow.places.filter(free), followers).flatMap((members) => {
    const inside = new Set(members);
    const out = members.some(({ moves }) => moves.some(({ to }) => to !== undefined && !inside.has(to)));
    return out ? [] : cycle(inside, subject, flow);
  });
  return [...folded(cycles, most), ...gates(subject, flow, free)];
};

function cycle(inside: ReadonlySet<Place>, { graph }: Subject, flow: Flow): readonly Told[] {
  const first = flow.places.find((place) => inside.has(place));
  if (first === undefined) return [];
  const round = wayTo(
    first,
    ({ to }) => to !== undefined && inside.has(to),
    ({ to }) => to === first,
  );
  const edge = round?.at(-1)?.way.edge;
  if (round === undefined || edge === undefined) return [];
  const ids = [...round.map(({ place }) => place.node.id), first.node.id];
  const shown = ids.length > 8 ? [...ids.slice(0, 5), '…', ...ids.slice(-2)] : ids;
  const told = () =>
    finding(graph, 'endless-cycle', 'warning', {
      message: `nothing but the default cap ends the cycle ${shown.join(' -> ')}: no edge that can be taken leads out of it`,
      span: edge.span,
      fix: 'give it a way out that can be taken, such as an edge with condition="outcome=success", or a limit: max_visits on one of its nodes',
    });
  const tell = () => {
    const path = pathTo(first);
    return provenBy(told(), graph, path === undefined ? undefined : [...path, ...round]);
  };
  return [{ name: first.node.id, tell }];
}

/** Goal gates that send the run back to where no way leads to them again: they stay as they are. */
function* gates(subject: Subject, flow: Flow, free: (place: Place) => boolean): Generator<Diagnostic> {
  const { graph } = subject;
  for (const [gate, target] of retryTargets(graph)) {
    const at = flow.places.find(({ node }) => node.id === gate);
    // A conditional is several places; an exit gives the same each time.
    const back = flow.places.find(
      ({ node, passes }) => node.id === target && (passes === undefined || passes.key === givenByExit.key),
    );
    if (at === undefined || back === undefined || gate === target || !free(back)) continue;
    if (
      wayTo(
        back,
        () => true,
        ({ to }) => to === at,
      ) !== undefined
    )
      continue;
    const again = wayTo(back, (move) => move.to !== undefined && free(move.to), isArrival);
    const exit = again?.at(-1)?.to;
    const path = pathTo(at);
    const missed = path === undefined ? undefined : backFrom(at, back, path);
    if (again === undefined || exit === undefined || path === undefined || missed === undefined) continue;
    const attribute = present(at.node.attrs, 'goal_gate');
    const told = finding(graph, 'endless-cycle', 'warning', {
      message: `once the goal gate "${gate}" is missed, nothing but the default cap ends the cycle from the exit "${exit.node.id}" back to "${target}": no way leads from there to "${gate}" again`,
      span: attribute?.keySpan ?? at.node.span,
      fix: `name a retry_target from which "${gate}" is reached again, or give "${target}" max_visits`,
    });
    const proven = provenBy(told, graph, [...path, ...missed, ...again, jump(exit, back)]);
    if (proven !== undefined) yield proven;
  }
}
