/** No failure is carried past by an unconditional edge into a run that ends in success.
 *
 *  What settles a failure on the way: the node itself succeeds later, a verification passes, or the success of the node
 *  that judges the loop which the failed one is part of. A goal gate lets no run succeed past it. */
import { type Flow, flowOf, isArrival, type Move, missedGate, missesGate, type Place } from '../flow/flow.ts';
import { isSet } from '../flow/giving.ts';
import { leadingTo, pathBetween, pathTo } from '../flow/search.ts';
import { folded, type Pending, proven } from '../flow/words.ts';
import { finding, type Rule, type Subject } from '../rule.ts';

const most = 3;
// Places looked at for all nodes together; those after that are not named.
const mostLooks = 300_000;

export const failureToSuccess: Rule = (subject) => {
  let looks = mostLooks;
  const spend = () => looks-- > 0;
  const pending: Pending[] = [];
  const flow = flowOf(subject);
  if (flow === undefined) return [];
  const arrivals = flow.places.filter(({ moves }) => moves.some((move) => isArrival(move) && carries(move)));
  const passing = leadingTo(flow, arrivals, carries);
  for (const place of flow.places) {
    // Quickly, for most places of a large graph.
    if (!place.moves.some(({ to }) => to !== undefined && passing.has(to))) continue;
    if (subject.kindOf.get(place.node.id)?.executable !== true || isSet(place.node, 'goal_gate')) continue;
    const past = carriedPast(flow, place, spend);
    const path = past === undefined ? undefined : pathTo(flow, place);
    if (past !== undefined && path !== undefined && !missedGate([...path, ...past]))
      pending.push({ name: place.node.id, make: () => report(subject, path, past) });
  }
  return folded(pending, most);
};

function report({ graph }: Subject, path: readonly Move[], past: readonly Move[]) {
  const id = past[0]?.place.node.id;
  const hop = past.find((move) => !isTakenUp(move) && move.to?.type !== 'conditional') ?? past[0];
  const edge = hop?.way.edge;
  if (edge === undefined) return undefined;
  const found = finding(graph, 'failure-to-success', 'warning', {
    message: `a failure of "${id}" is carried on by the unconditional edge to "${edge.to}", and the run can still end in success at "${past.at(-1)?.to?.node.id}"`,
    span: edge.span,
    fix: `say where each outcome leads (condition="outcome=success", condition="outcome=fail"), or give "${id}" goal_gate=true`,
  });
  return proven(found, [...path, ...past]);
}

const isReported = ({ giving }: Move): boolean => giving.status === 'fail' && !giving.broke;
const isTakenUp = ({ way }: Move): boolean => way.how === 'condition';

/** Whether a failure from before may pass on with this move, whichever node failed: a goal gate that is missed, a verification
 *  that passes and a condition by which a conditional takes the failure up end its way. */
const carries = (move: Move): boolean =>
  !missesGate(move) &&
  !(move.giving.status === 'success' && move.place.type === 'verification') &&
  !(move.place.type === 'conditional' && isReported(move) && isTakenUp(move));

/** The moves from a reported failure of `place` by an unconditional edge to a success exit, where nothing settles it. */
function carriedPast(flow: Flow, place: Place, spend: () => boolean): readonly Move[] | undefined {
  let back: ReadonlySet<Place> | undefined;
  const leadsBack = ({ to }: Move): boolean => {
    back ??= leadingTo(flow, [place], spend);
    return to !== undefined && back.has(to);
  };
  const may = (move: Move): boolean =>
    move.place !== place &&
    carries(move) &&
    !(move.giving.status === 'success' && judges(move.place, leadsBack));
  for (const failure of place.moves) {
    const { to } = failure;
    if (!isReported(failure) || isTakenUp(failure) || to === undefined || to.type === 'exit') continue;
    const past = pathBetween(to, may, isArrival, spend);
    if (past !== undefined) return [failure, ...past];
  }
  return undefined;
}

/** Whether a reported failure of `judge` is led by a condition to where `leads` says. */
const judges = (judge: Place, leads: (move: Move) => boolean): boolean =>
  judge.passes === undefined &&
  judge.moves
    .filter(isReported)
    .flatMap((move) => (move.to?.type === 'conditional' && !isTakenUp(move) ? move.to.moves : [move]))
    .some((move) => isTakenUp(move) && leads(move));
