/** No unconditional edge leads from a failure to a success exit.
 *
 *  On the way a failure is settled if the node itself succeeds later, a verification passes, or the node that checks the
 *  loop of the failed one succeeds. No run succeeds after an unmet goal gate. */
import { regionJoinedAt } from '../../core/branches.ts';
import { isGate } from '../../core/goal-gates.ts';
import {
  type Flow,
  type FlowPlace,
  flowOf,
  isArrival,
  leadingTo,
  type Move,
  meets,
  missedGate,
  missesGate,
  pathBetween,
  pathTo,
  restarts,
} from '../flow/reach.ts';
import { limitedFindings, type Pending, proven } from '../flow/words.ts';
import { finding, type Rule, type Subject } from '../rule.ts';

const most = 3;
// The most places visited for all nodes together; further findings are not reported.
const mostLooks = 300_000;

export const failureToSuccess: Rule = {
  code: 'failure-to-success',
  severity: 'warning',
  rule: 'No unconditional edge leads from a reported failure to a success exit.',
  wrong: 'start; exit; a [shape=parallelogram, tool_command=x]; b [label=b]; start -> a -> b -> exit',
  fix: 'give each outcome an edge, or set `goal_gate=true`',
  needs: 'paths',
  check: (subject) => {
    let looks = mostLooks;
    const spend = () => looks-- > 0;
    const pending: Pending[] = [];
    const flow = flowOf(subject);
    if (flow === undefined) return [];
    const arrivals = flow.places.filter(({ moves }) =>
      moves.some((move) => isArrival(move) && carries(move)),
    );
    const passing = leadingTo(flow, arrivals, carries);
    for (const place of flow.places) {
      // A quick check that skips most places of a large graph.
      if (!place.moves.some(({ to }) => to !== undefined && passing.has(to))) continue;
      const works = subject.kindOf.get(place.node.id)?.executable === true;
      const joins = regionJoinedAt(subject.graph, place.node.id) !== undefined;
      if (!(works || joins) || isGate(place.node)) continue;
      const past = carriedPast(flow, place, spend);
      const path = past === undefined ? undefined : pathTo(flow, place);
      if (past !== undefined && path !== undefined && !missedGate([...path, ...past]))
        pending.push({ name: place.node.id, make: () => report(subject, path, past) });
    }
    return limitedFindings(pending, most);
  },
};

function report({ graph }: Subject, path: readonly Move[], past: readonly Move[]) {
  const id = past[0]?.place.node.id;
  const hop = past.find((move) => !isTakenUp(move) && move.to?.type !== 'conditional') ?? past[0];
  const edge = hop?.way.edge;
  if (edge === undefined) return undefined;
  const found = finding(graph, failureToSuccess, {
    message: `a failure of "${id}" follows the unconditional edge to "${edge.to}", and the run can still end in success at "${past.at(-1)?.to?.node.id}"`,
    span: edge.span,
    fix: `give each outcome an edge (condition="outcome=success", condition="outcome=fail"), or give "${id}" goal_gate=true`,
  });
  return proven(found, [...path, ...past]);
}

const isReported = ({ giving }: Move): boolean => giving.status === 'fail' && !giving.broke;
const isTakenUp = ({ way }: Move): boolean => way.how === 'condition';

/** Whether an earlier failure is still unsettled after this move: an unmet goal gate, a passing verification, a
 *  restart and a condition of a conditional that matches the failure settle it; the failure with which a branch ends is the join's. */
const carries = (move: Move): boolean =>
  !missesGate(move) &&
  !restarts(move) &&
  !(move.giving.status === 'fail' && meets(move)) &&
  !(move.giving.status === 'success' && move.place.type === 'verification') &&
  !(move.place.type === 'conditional' && isReported(move) && isTakenUp(move));

/** The moves from a reported failure of `place` by an unconditional edge to a success exit, if nothing settles it. */
function carriedPast(flow: Flow, place: FlowPlace, spend: () => boolean): readonly Move[] | undefined {
  let back: ReadonlySet<FlowPlace> | undefined;
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
    if (
      !isReported(failure) ||
      isTakenUp(failure) ||
      restarts(failure) ||
      meets(failure) ||
      to === undefined ||
      to.type === 'exit'
    )
      continue;
    const past = pathBetween(to, may, isArrival, spend);
    if (past !== undefined) return [failure, ...past];
  }
  return undefined;
}

/** Whether a condition leads a reported failure of `judge` to a move accepted by `leads`. */
const judges = (judge: FlowPlace, leads: (move: Move) => boolean): boolean =>
  judge.passes === undefined &&
  judge.moves
    .filter(isReported)
    .flatMap((move) => (move.to?.type === 'conditional' && !isTakenUp(move) ? move.to.moves : [move]))
    .some((move) => isTakenUp(move) && leads(move));
