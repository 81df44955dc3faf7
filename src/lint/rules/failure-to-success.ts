/** No failure is carried past by an unconditional edge into a run that ends in success.
 *
 *  What settles a failure on the way: the node itself succeeds later, a verification passes, or the success of the stage
 *  that judges the loop which the failed one is part of. A goal gate lets no run succeed past it. */
import { cyclesOf } from '../flow/components.ts';
import { type Flow, flowOf, type Move, type Place, pathTo } from '../flow/flow.ts';
import { isArrival, isGood, missedGates } from '../flow/gates.ts';
import { isSet } from '../flow/giving.ts';
import { wayTo } from '../flow/search.ts';
import { folded, provenBy, type Told } from '../flow/words.ts';
import { finding, type Rule } from '../rule.ts';

const most = 3;
// Places looked at for all nodes together; those after that are not named.
const mostLooks = 60_000;

export const failureToSuccess: Rule = (subject) => {
  const flow = flowOf(subject);
  if (flow === undefined) return [];
  const { graph, kindOf } = subject;
  const judges = judgesOf(flow);
  let looks = mostLooks;
  const spend = () => looks-- > 0;
  const found: Told[] = [];
  const told = new Set<string>();
  for (const place of flow.places) {
    const { node } = place;
    if (kindOf.get(node.id)?.executable !== true || isSet(node, 'goal_gate')) continue;
    for (const failure of place.moves) {
      if (told.has(node.id) || !isReported(failure) || failure.way.how === 'condition') continue;
      const settles = ({ place: { node: at }, giving, place: { type } }: Move): boolean =>
        giving.status === 'success' && (type === 'verification' || (judges.get(place)?.has(at.id) ?? false));
      const past = carried(failure, (move) => move.place === place || settles(move), spend);
      const path = past === undefined ? undefined : pathTo(place);
      if (past === undefined || path === undefined) continue;
      const all = [...path, failure, ...past];
      if (missedGates(all).length > 0) continue;
      const hop = [failure, ...past].find(
        (move) => move.way.how !== 'condition' && move.to?.type !== 'conditional',
      );
      const edge = hop?.way.edge;
      const exit = past.at(-1)?.to?.node.id ?? '';
      if (edge === undefined) continue;
      told.add(node.id);
      const said = () =>
        finding(graph, 'failure-to-success', 'warning', {
          message: `a failure of "${node.id}" is carried on by the unconditional edge to "${edge.to}", and the run can still end in success at "${exit}"`,
          span: edge.span,
          fix: `say where each outcome leads (condition="outcome=success", condition="outcome=fail"), or give "${node.id}" goal_gate=true`,
        });
      found.push({ name: node.id, tell: () => provenBy(said(), graph, all) });
    }
  }
  return folded(found, most);
};

const isReported = ({ giving }: Move): boolean => giving.status === 'fail' && !giving.broke;

/** The moves from a failure's edge on to a success exit; undefined where there are none, or where a conditional edge takes
 *  the failure up. */
function carried(
  failure: Move,
  settled: (move: Move) => boolean,
  spend: () => boolean,
  seen = new Set<Place>(),
): readonly Move[] | undefined {
  const may = (move: Move) => !settled(move) && (isGood(move) || !isSet(move.place.node, 'goal_gate'));
  const { to } = failure;
  if (to === undefined || to.type === 'exit') return undefined;
  if (to.type !== 'conditional') return wayTo(to, may, isArrival, spend);
  // Conditionals may lead to one another in a circle.
  seen.add(to);
  // A conditional hands the failure on as it is: only an unconditional edge out of it carries it past.
  for (const next of to.moves) {
    if (next.way.how === 'condition' || next.to === undefined || seen.has(next.to) || !spend()) continue;
    const rest = carried(next, settled, spend, seen);
    if (rest !== undefined) return [next, ...rest];
  }
  return undefined;
}

/** For each place in a loop the nodes that judge it: stages whose failure, by a condition, keeps the run in the loop. */
function judgesOf({ places }: Flow): ReadonlyMap<Place, ReadonlySet<string>> {
  const found = new Map<Place, ReadonlySet<string>>();
  for (const loop of cyclesOf(places, followers)) {
    const inside = new Set(loop);
    const stays = ({ to, way }: Move, seen = new Set<Place>()): boolean => {
      if (to === undefined || !inside.has(to)) return false;
      if (way.how === 'condition') return true;
      // Conditionals may lead to one another in a circle.
      if (to.type !== 'conditional' || seen.has(to)) return false;
      seen.add(to);
      return to.moves.some((next) => next.to !== to && stays(next, seen));
    };
    const judges = new Set(
      loop
        .filter(
          ({ moves, passes }) =>
            passes === undefined && moves.some((move) => isReported(move) && stays(move)),
        )
        .map(({ node }) => node.id),
    );
    for (const place of loop) found.set(place, judges);
  }
  return found;
}

const followers = ({ moves }: Place): readonly Place[] => moves.flatMap(({ to }) => to ?? []);
