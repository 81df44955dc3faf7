/** Every cycle has a way out, or a limit set by its author; max_restarts limits edges with loop_restart. */
import { regionsAround } from '../../core/branches.ts';
import { parseCondition } from '../../core/conditions.ts';
import { isAgentType } from '../../core/graph.ts';
import { amountLimits } from '../../core/settings/limits.ts';
import { type Attributes, present } from '../../core/settings/types.ts';
import {
  type Flow,
  type FlowPlace,
  flowOf,
  leadingTo,
  type Move,
  pathBetween,
  pathInto,
  pathTo,
  restarts,
} from '../flow/reach.ts';
import { limitedFindings, type Pending, proven } from '../flow/words.ts';
import { finding, type Rule, type Subject } from '../rule.ts';

const most = 20;
// The most places visited for all agents together; further findings are not reported.
const mostLooks = 300_000;

const limitsOfGraph = ['default_max_visits', ...Object.keys(amountLimits)];
const nodeLimits = ['max_visits', 'max_wall'];
const hasOneOf = (attrs: Attributes, keys: readonly string[]): boolean =>
  keys.some((key) => present(attrs, key) !== undefined);
const isLimited = ({ node }: FlowPlace): boolean => hasOneOf(node.attrs, nodeLimits);

export const endlessCycle: Rule = {
  code: 'endless-cycle',
  severity: 'warning',
  rule: 'Every cycle of edges has an end other than the default limit.',
  wrong: 'start; exit; a [label=a]; b [label=b]; start -> a -> b -> a; b -> exit [condition="outcome=retry"]',
  fix: 'a way out that can be taken, or `max_visits` on one of the nodes',
  needs: 'paths',
  check: (subject) => {
    const { graph } = subject;
    const flow = flowOf(subject);
    if (flow === undefined || hasOneOf(graph.attrs, limitsOfGraph)) return [];
    const ends = flow.places.filter(
      (place) =>
        isLimited(place) || place.moves.every(({ to }) => to === undefined) || place.moves.some(restarts),
    );
    const free = leadingTo(flow, ends);
    const caught = new Set(flow.places.filter((place) => !free.has(place)));
    const reported = new Set(caught);
    const pending: Pending[] = [];
    for (const place of flow.places) {
      if (!caught.has(place)) continue;
      const round = pathInto(place, place);
      const edge = round?.at(-1)?.way.edge;
      if (round === undefined || edge === undefined) continue;
      // Report once for all places that follow.
      leave(caught, place);
      const shown = shownRound([...round.map((move) => move.place.node.id), place.node.id]);
      const found = finding(graph, endlessCycle, {
        message: `only the default limit ends the cycle ${shown}: no edge that can be taken leads out of it`,
        span: edge.span,
        fix: 'give it a way out that can be taken, such as an edge with condition="outcome=success", or a limit: max_visits on one of its nodes',
      });
      const make = () => {
        const path = pathTo(flow, place);
        return proven(found, path === undefined ? undefined : [...path, ...round]);
      };
      pending.push({ name: place.node.id, make });
    }
    return limitedFindings([...pending, ...unlimitedAgents(subject, flow, reported)], most);
  },
};

/** Agents in a cycle that only the outcomes of its nodes end: nothing says how often the agent may be asked. A condition on another
 *  key counts as a limit of the author's. */
function unlimitedAgents(
  { graph }: Subject,
  flow: Flow,
  reported: ReadonlySet<FlowPlace>,
): readonly Pending[] {
  const seen = new Set(reported);
  let looks = mostLooks;
  const spend = () => looks-- > 0;
  const isOpen = ({ to, way }: Move): boolean =>
    to !== undefined && !isLimited(to) && !restarts({ to, way }) && !hasOwnKey(way.edge?.conditionText ?? '');
  const loops = beforeCycles(flow, isOpen);
  const around = new Set<string>();
  return flow.places.flatMap((place): Pending[] => {
    if (!isAgentType(place.type ?? '') || isLimited(place) || seen.has(place) || !loops.has(place)) return [];
    const round = pathBetween(place, isOpen, ({ to }) => to === place, spend);
    if (round === undefined) return [];
    for (const move of round) seen.add(move.place);
    // A loop around branches is one, whichever of them it goes through.
    const outside = withoutBranches(round);
    if (outside.length < round.length && around.has(outside.join(' '))) return [];
    around.add(outside.join(' '));
    const { id, span } = place.node;
    const ids = shownRound([...round.map((move) => move.place.node.id), id]);
    const found = finding(graph, endlessCycle, {
      message: `only the default limit of ${place.node.settings.max_visits} executions ends the cycle ${ids} while its outcomes stay the same`,
      span,
      fix: `say how often "${id}" may be asked: max_visits=5 on it, or default_max_visits, max_cost_usd or max_wall on the graph`,
    });
    const make = () => {
      const path = pathTo(flow, place);
      return proven(found, path === undefined ? undefined : [...path, ...round]);
    };
    return [{ name: id, make }];
  });
}

/** The nodes of a round, sorted, without those in a branch whose fan-out is among them. */
function withoutBranches(round: readonly Move[]): readonly string[] {
  const ids = new Set(round.map(({ place }) => place.node.id));
  const isAround = ({ place }: Move): boolean =>
    ![...regionsAround(place.fork.graph, place.node.id)].some(({ node }) => ids.has(node));
  return round
    .filter(isAround)
    .map(({ place }) => place.node.id)
    .sort();
}

/** The places from which these moves can be made without an end. */
function beforeCycles({ places, before }: Flow, isOpen: (move: Move) => boolean): ReadonlySet<FlowPlace> {
  const left = new Map(places.map((place) => [place, place.moves.filter(isOpen).length]));
  const ended = places.filter((place) => left.get(place) === 0);
  for (let place = ended.pop(); place !== undefined; place = ended.pop()) {
    left.delete(place);
    for (const move of before.get(place) ?? []) {
      const more = left.get(move.place);
      if (more === undefined || !isOpen(move)) continue;
      left.set(move.place, more - 1);
      if (more === 1) ended.push(move.place);
    }
  }
  return new Set(left.keys());
}

const ownKeys = /^(?:context\.)?(?:outcome|preferred_label|failure_class)$/;

function hasOwnKey(text: string): boolean {
  const read = text === '' ? undefined : parseCondition(text);
  return read !== undefined && 'condition' in read && read.keys.some(({ key }) => !ownKeys.test(key));
}

const shownRound = (ids: readonly string[]): string =>
  (ids.length > 8 ? [...ids.slice(0, 5), '…', ...ids.slice(-2)] : ids).join(' -> ');

function leave(caught: Set<FlowPlace>, place: FlowPlace): void {
  const open = [place];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (caught.delete(next)) for (const { to } of next.moves) if (to !== undefined) open.push(to);
  }
}
