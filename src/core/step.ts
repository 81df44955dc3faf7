/** Decides what a run does next: `plan` before a node, `step` after it. Pure, so that a resume is the same loop entered in the
 *  middle. */

import { regionsOf } from './branches.ts';
import { callEndedAt } from './call-ends.ts';
import { failureCode, type GateVerdict } from './crossing.ts';
import type { PlanFacts, RunEnding, RunPlan, StateChange, Step, StepFacts } from './decision.ts';
import { givenByEdge } from './fidelity.ts';
import { exitGates, gatesAfter, gatesBefore } from './gates.ts';
import { fanOutType, type Graph, type Node, nodeOf, writtenId } from './graph.ts';
import { own } from './json.ts';
import { reachedJoin } from './lane-bounds.ts';
import {
  type Failure,
  isFinalConfig,
  type Outcome,
  reasonOf,
  reasonWithAttribution,
  type SuspendedRun,
  succeeded,
} from './outcome.ts';
import type { Ended, RunState } from './records/checkpoint.ts';
import type { BranchEnd, Fork, OpenedFork } from './records/fork.ts';
import { suspension } from './retry.ts';
import { beginningRound, restartsAt } from './rounds.ts';
import { asksHowItWent, fanOutRoute, type Route, route } from './routing.ts';
import { changeBy, lookupAfter, mergedContext } from './state-change.ts';

/** What the run does now: execute the next node, or stop. */
export function plan(graph: Graph, state: RunState, facts: PlanFacts): RunPlan {
  if (state.ended !== null) return { do: 'finish', ending: endingFromRecord(state.ended) };
  if (state.parked !== undefined) return { do: 'suspend', parked: state.parked };
  if (facts.interrupted) return { do: 'interrupt' };
  const node = nextNode(graph, state);
  const kind = facts.kinds.find(({ type }) => type === node?.type);
  if (node === undefined || kind === undefined)
    throw new Error(`Internal: no node ${state.next_node} in a linted graph`);
  for (const gate of gatesBefore) {
    const hit = gate({ graph, state, node, kind, facts });
    if (hit !== undefined) return { do: 'finish', ending: { ...failing(hit.reason), ...hit, orderly: true } };
  }
  // A resume may have changed the goal; no node can.
  const goal = graph.settings.goal?.value;
  const aim = goal === undefined ? {} : { 'graph.goal': goal };
  const context = { ...state.context, ...aim, current_node: writtenId(graph, node.id) };
  const visit = (own(state.visits, node.id) ?? 0) + 1;
  return { do: 'execute', node, kind, visit, state: { ...state, context } };
}

/** Where a call has ended, it is the exit that its pipeline has reached. */
function nextNode(graph: Graph, state: RunState): Node | undefined {
  const { next_node: id } = state;
  if (id === null) return undefined;
  return callEndedAt(state, id) === undefined ? graph.nodes.get(id) : nodeOf(graph, id);
}

/** An end of the run that no exit has decided. */
export const failing = (reason: string, disk = false): RunEnding => ({
  ok: false,
  exitNode: null,
  reason,
  code: 1,
  ...(disk ? { disk } : {}),
});

/** The end of a run as the checkpoint records it. */
export const recordedEnd = ({ ok, exitNode, reason, code, cause, disk }: RunEnding): Ended => ({
  exit_node: exitNode,
  ok,
  reason,
  code,
  ...(cause === undefined ? {} : { cause }),
  ...(disk === true ? { disk } : {}),
});

export const endingFromRecord = ({ exit_node, ok, reason, code, cause, disk }: Ended): RunEnding => ({
  ok,
  exitNode: exit_node,
  reason,
  code,
  ...(cause === undefined ? {} : { cause }),
  ...(disk === undefined ? {} : { disk }),
});

/** The change of the state by `outcome`, and the next node or the end: as the edges say, unless a gate overrules them. */
export function step(graph: Graph, before: RunState, outcome: Outcome, facts: StepFacts): Step {
  const call = callEndedAt(before, facts.node);
  if (call !== undefined) return afterCall(graph, before, outcome, facts, call);
  return joining(before, facts, decided(graph, before, outcome, facts));
}

function decided(graph: Graph, before: RunState, outcome: Outcome, facts: StepFacts): Step {
  let so = byEdge(graph, before, outcome, facts);
  for (const gate of gatesAfter) so = overruled(so, gate({ graph, before, outcome, facts, so }));
  return inLane(graph, before, facts, so);
}

/** The end of a call is an outcome of the node that called, and is routed by its edges; the record is one of the exit. */
function afterCall(graph: Graph, before: RunState, outcome: Outcome, facts: StepFacts, { node }: Fork): Step {
  const type = graph.nodes.get(node)?.type ?? '';
  const visits = { ...before.visits, [node]: (own(before.visits, node) ?? 1) - 1 };
  const so = decided(graph, { ...before, visits }, outcome, { ...facts, node, type });
  const visit = (own(before.visits, facts.node) ?? 0) + 1;
  return { ...so, change: { ...so.change, node: facts.node, visit }, joined: node };
}

/** In a branch what would end the run ends the branch, and so does the way into its join: there it waits for the others. A replay that
 *  stops has no branches any more. */
function inLane(graph: Graph, before: RunState, facts: StepFacts, so: Step): Step {
  const { lane, replay } = facts;
  if (lane === undefined || replay !== undefined) return so;
  const { decision, change } = so;
  const [first = ''] = lane.joins;
  const at = (node: string, ended: BranchEnd): Step => ({
    ...so,
    change: leading(change, node, change.now.arrived),
    decision: { do: 'end_branch', ended },
  });
  if (decision.do === 'finish') {
    return at(first, branchEnd(decision.ending, change));
  }
  if (decision.do !== 'run' || !lane.joins.has(decision.node)) return so;
  const { node } = decision;
  return at(node, lane.call === true ? exitEnd(graph, before, facts, so, node) : reachedJoin(change.outcome));
}

/** How a called pipeline ends at its exit: as a run would. */
function exitEnd(
  graph: Graph,
  before: RunState,
  facts: StepFacts,
  { change }: Step,
  node: string,
): BranchEnd {
  const entered: RunState = { ...before, ...change.now };
  const at = { ...facts, node, type: 'exit' };
  const outcome = succeeded();
  let so = byEdge(graph, entered, outcome, at);
  for (const gate of exitGates) so = overruled(so, gate({ graph, before: entered, outcome, facts: at, so }));
  return so.decision.do === 'finish' ? branchEnd(so.decision.ending, change) : reachedJoin(change.outcome);
}

function branchEnd({ ok, reason, ofBranch }: RunEnding, { now }: StateChange): BranchEnd {
  if (ok) return { ok, status: 'completed', reason: '', class: null };
  return { ok, status: 'failed', reason, class: ofBranch === true ? 'budget' : classOf(now) };
}

const classOf = ({ last_outcome, last_failure }: StateChange['now']): BranchEnd['class'] =>
  last_outcome.status === 'fail' ? last_outcome.class : (last_failure?.class ?? null);

/** A join closes the fork; one that fails and is executed again by a resume, before it has merged anything, finds the branches still. */
function joining({ fork }: RunState, { node, joined }: StepFacts, so: Step): Step {
  if (fork?.join !== node || (joined === undefined && so.change.now.next_node === node)) return so;
  return { ...so, joined: fork.node };
}

/** Where the node leads by its edges alone; an exit ends the run with success. */
function byEdge(graph: Graph, before: RunState, outcome: Outcome, facts: StepFacts): Step {
  const change = changeBy(graph, before, facts, outcome);
  if (facts.type === 'exit') {
    const ending = { ok: true, exitNode: facts.node, reason: '', code: 0 };
    return { change, route: undefined, decision: { do: 'finish', ending } };
  }
  const lookup = lookupAfter(before, facts, change.now.context, outcome);
  const way =
    facts.type === fanOutType
      ? fanOutRoute(graph, facts.node, outcome, lookup)
      : route(graph, facts.node, outcome, lookup);
  const fork = facts.opens ?? openedBy(graph, facts.node, way);
  if (fork !== undefined) {
    const arrived = { from: facts.node, conditional: false };
    const led = leading(change, fork.join, arrived);
    return { change: led, route: way, decision: { do: 'run', node: fork.join }, fork };
  }
  if (way.edge !== undefined) {
    const { to } = way.edge;
    const arrived = arrival(facts.node, way);
    const led = leading(change, to, arrived);
    const restarts = restartsAt(way.edge, graph.nodes.get(to));
    const round = restarts ? beginningRound(graph, before, led, facts.lane?.given) : led;
    return { change: round, route: way, decision: { do: 'run', node: to } };
  }
  const because =
    outcome.status === 'fail'
      ? reasonWithAttribution(facts.printable ?? outcome.reason, outcome.attribution)
      : reasonOf(outcome);
  const config = isFinalConfig(outcome);
  const hint = config ? ' (class config: only an edge that names failure_class takes it)' : '';
  const noRoute = `no route from node ${facts.node} for outcome ${outcome.status}${because === '' ? '' : `: ${because}`}${hint}`;
  // Without an edge to verification the limit ends the run.
  const isLimit = outcome.status === 'fail' && outcome.class === 'budget';
  const ending: RunEnding = {
    ...failing(isLimit ? outcome.reason : noRoute),
    code: failureCode(change.now.last_failure),
    ...(isLimit
      ? {}
      : { cause: { kind: 'no_route', node: facts.node, outcome: outcome.status, config } as const }),
  };
  // A resume executes the node again that no edge could leave.
  return {
    change: leading(change, facts.node, before.arrived),
    route: way,
    decision: { do: 'finish', ending },
  };
}

/** The branches of a fan-out whose edges are taken. */
function openedBy(graph: Graph, node: string, { how, candidates }: Route): OpenedFork | undefined {
  if (how !== 'parallel') return undefined;
  const region = regionsOf(graph).get(node);
  if (region === undefined) throw new Error(`Internal: the branches of ${node} do not meet`);
  const targets = new Set(candidates.filter(({ matched }) => matched).map(({ to }) => to));
  const branches = region.branches.filter(({ id }) => targets.has(id)).map(({ id }) => ({ id }));
  return { join: region.join, branches };
}

/** How the run comes to the next node. A condition that asks for no outcome and is true by a key that nothing has set is about nothing: it
 *  carries a failure as an unconditional edge does. */
function arrival(from: string, { edge, how, candidates }: Route): NonNullable<RunState['arrived']> {
  const chosen = candidates.find(
    ({ to, lost, condition }) => lost === undefined && to === edge?.to && condition === edge.conditionText,
  );
  const unset = how === 'condition' && edge !== undefined && !asksHowItWent(edge) ? chosen?.unset : undefined;
  return {
    from,
    conditional: how === 'condition' && unset === undefined,
    ...(unset === undefined ? {} : { unset: [...unset] }),
    ...(edge === undefined ? {} : givenByEdge(edge)),
  };
}

function overruled(so: Step, verdict: GateVerdict): Step {
  if (verdict === undefined) return so;
  if ('end' in verdict) return { ...so, decision: { do: 'finish', ending: verdict.end } };
  const { reroute, context } = verdict;
  const change = { ...so.change, now: { ...so.change.now, context } };
  const arrived = { from: change.node, conditional: true };
  return { ...so, change: leading(change, reroute, arrived), decision: { do: 'run', node: reroute } };
}

const leading = (
  change: StateChange,
  next_node: string | null,
  arrived: RunState['arrived'],
): StateChange => ({
  ...change,
  now: { ...change.now, next_node, arrived },
});

/** The suspension that a failed call asks for; undefined where an edge takes the failure. `earlier`: the one that this process
 *  has resumed. */
export function suspendedBy(
  graph: Graph,
  before: RunState,
  outcome: Outcome & Failure,
  facts: StepFacts,
  earlier: SuspendedRun | undefined,
  max_windows: number,
): SuspendedRun | undefined {
  if (outcome.park === undefined) return undefined;
  const context = mergedContext(graph, before, facts, outcome);
  const way = route(graph, facts.node, outcome, lookupAfter(before, facts, context, outcome));
  return suspension(outcome, way, {
    node: facts.node,
    now: new Date(facts.at),
    before: earlier,
    max_windows,
  });
}
