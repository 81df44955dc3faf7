/** The rules that keep a run from its next node: `gatesBefore` end it before a node starts, `gatesAfter` overrule the edge that a
 *  finished node leaves by. Each is a pure function of the state and of facts that were gathered before. */
import { capHit, type LimitHit, ofRun, spendHit } from './budget/limits.ts';
import { callEndedAt, managerEnd } from './call-ends.ts';
import type { NodeKind } from './contracts/node-kind.ts';
import { type Crossing, failedEnd, failsAtExit, type GateVerdict, successOf } from './crossing.ts';
import type { PlanFacts } from './decision.ts';
import { spentGoalGate, unmetGates, unmetGoalGate } from './goal-gates.ts';
import type { Graph, Node } from './graph.ts';
import { own } from './json.ts';
import { failed, keptOfAttempt, type Outcome } from './outcome.ts';
import { overriddenEnd } from './overridden.ts';
import type { RunState } from './records/checkpoint.ts';
import { restartsSpent, visitsInRound } from './rounds.ts';
import { stalledLoop } from './stalled-loop.ts';
import { unfixableSource } from './unfixable.ts';

/** A node that is about to start. */
export type NodeEntry = {
  readonly graph: Graph;
  readonly state: RunState;
  readonly node: Node;
  readonly kind: NodeKind;
  readonly facts: PlanFacts;
};

/** Why the run ends before a node, in the order in which they are asked. */
export const gatesBefore: readonly ((entry: NodeEntry) => LimitHit | undefined)[] = [
  restarts,
  visitsStepsAndTime,
  spending,
  unfixableFailure,
  otherNodeThanReplayed,
];

function restarts({ state, facts }: NodeEntry): LimitHit | undefined {
  return restartsSpent(state, facts.caps);
}

function spending({ facts: { caps, spent, unpriced } }: NodeEntry): LimitHit | undefined {
  return ofRun(spendHit({ caps, spent, unpriced }, caps.unknown_cost));
}

function otherNodeThanReplayed({ facts }: NodeEntry): LimitHit | undefined {
  return ofRun(facts.replay);
}

function visitsStepsAndTime({ state, node, facts }: NodeEntry): LimitHit | undefined {
  const { caps, elapsedMs } = facts;
  return capHit(
    caps,
    {
      id: node.id,
      max_visits: node.settings.max_visits,
      // Of a call, the node that calls is counted.
      visits: callEndedAt(state, node.id) === undefined ? visitsInRound(state, node.id) : 0,
      restart: state.restarts,
      max_wall: node.settings.max_wall,
      elapsedMs: (own(state.node_ms ?? {}, node.id) ?? 0) + (state.cut_ms ?? 0),
    },
    { steps: state.steps, elapsedMs },
  );
}

function unfixableFailure({ graph, state, node, kind }: NodeEntry): LimitHit | undefined {
  if (kind.type !== 'codergen') return undefined;
  const { allowed_write_paths: allowed = [] } = node.settings;
  return ofRun(unfixableSource(graph, node, allowed, state.last_failure));
}

/** In this order; each sees what those before it decided. */
export const gatesAfter: readonly ((crossing: Crossing) => GateVerdict)[] = [
  exitThatFails,
  unmetGoalGate,
  failureIntoExit,
  spentGoalGate,
  endByManager,
  rejectedByAudit,
  overriddenSuccess,
  stalledLoop,
  otherRouteThanReplayed,
];

function otherRouteThanReplayed({ facts }: Crossing): GateVerdict {
  return facts.replay === undefined ? undefined : failedEnd(facts.replay);
}

/** Why an exit that is reached is no success. */
export const exitGates = [exitThatFails, failureIntoExit] as const;

/** A manager that ends its pipeline between two of its executions. */
function endByManager(crossing: Crossing): GateVerdict {
  const { graph, before, outcome, facts, so } = crossing;
  const { lane } = facts;
  const { decision, fork, change } = so;
  if (lane?.call !== true || fork !== undefined || decision.do !== 'run' || lane.joins.has(decision.node))
    return undefined;
  const isUnmet = unmetGates(crossing).length > 0;
  const ending = managerEnd(graph, before, { context: change.now.context, outcome, isUnmet });
  return ending === undefined ? undefined : { end: ending };
}

/** An exit with `outcome=fail` ends the run as failed. */
function exitThatFails(crossing: Crossing): GateVerdict {
  const { graph, facts, so } = crossing;
  const node = graph.nodes.get(facts.node);
  if (successOf(so) === undefined || node === undefined) return undefined;
  if (node.settings.outcome !== 'fail') return undefined;
  const label = node.settings.label?.trim();
  const title = label === undefined || label === node.id ? '' : ` (${label.replaceAll('\n', ' ')})`;
  const last = so.change.now.last_failure;
  return failsAtExit(crossing, `${node.id}${title}${last === null ? '' : `: ${last.node}: ${last.reason}`}`);
}

const forgives = ' (a condition such as outcome=fail on the edge forgives it)';

/** No failure walks into a success by an unconditional edge. */
function failureIntoExit(crossing: Crossing): GateVerdict {
  const { before, so } = crossing;
  const previous = before.last_outcome;
  if (successOf(so) === undefined || previous?.status !== 'fail' || before.arrived?.conditional === true)
    return undefined;
  const { unset = [] } = before.arrived ?? {};
  const by =
    unset.length === 0
      ? 'an unconditional edge'
      : `a condition on ${unset.join(', ')}, which nothing has set`;
  // The reason of a call that failed so has the hint already.
  const why = previous.reason.replaceAll(forgives, '');
  return failsAtExit(
    crossing,
    `node ${before.last_completed_node} failed and reached the exit "${so.change.node}" by ${by}${why === '' ? '' : `: ${why}`}${forgives}`,
  );
}

function rejectedByAudit({ facts: { audit }, so }: Crossing): GateVerdict {
  const success = successOf(so);
  if (success === undefined || audit === undefined) return undefined;
  return { end: { ...success, ok: false, reason: audit, code: 1 } };
}

/** A success in spite of a failure that an answer of a person has let pass. */
function overriddenSuccess({ before, so }: Crossing): GateVerdict {
  const success = successOf(so);
  const end = success === undefined ? undefined : overriddenEnd(success, before);
  return end && { end };
}

/** The truth gate: the outcome of a node, whose success does not count while the tool node that it requires has not succeeded. */
export function truthGate(
  { node, kind }: { readonly node: Node; readonly kind: Pick<NodeKind, 'executable'> },
  { outcomes }: Pick<RunState, 'outcomes'>,
  outcome: Outcome,
): Outcome {
  if (outcome.status !== 'success' || !kind.executable) return outcome;
  const { requires_tool_success: holds, required_tool_node: required } = node.settings;
  if (!holds || required === undefined || own(outcomes, required)?.status === 'success') return outcome;
  return {
    ...failed(`required tool node not successful: ${required}`, 'guardrail'),
    ...keptOfAttempt(outcome),
  };
}
