/** Decides what a run does next: `plan` before a node, `step` after it. Pure, so that a resume is the same loop entered in the
 *  middle. */

import { regionsOf } from './branches.ts';
import { callEndedAt } from './call-ends.ts';
import { conditionLookup, outputKeys } from './context.ts';
import type { PlanFacts, RunEnding, RunPlan, StateChange, Step, StepFacts } from './decision.ts';
import { escalationAt, modelsOf } from './escalation.ts';
import { givenByEdge } from './fidelity.ts';
import { exitGates, failureCode, type GateVerdict, gatesAfter, gatesBefore } from './gates.ts';
import { fanOutType, type Graph, isAgentType, isOwnType, type Node, nodeOf, writtenId } from './graph.ts';
import { type Json, own, put } from './json.ts';
import { reachedJoin } from './lane-bounds.ts';
import {
  type Context,
  type Failure,
  isFinalConfig,
  type Outcome,
  reasonOf,
  reasonWithAttribution,
  type SuspendedRun,
  succeeded,
} from './outcome.ts';
import { isReported, mayReport } from './policy/reported-keys.ts';
import { type Ended, type LastFailure, nodeOutcome, type RunState } from './records/checkpoint.ts';
import type { BranchEnd, Fork, OpenedFork } from './records/fork.ts';
import { escalationKey } from './records/layout.ts';
import { suspension } from './retry.ts';
import { beginningRound, restartsAt, visitsInRound } from './rounds.ts';
import { asksHowItWent, type ConditionLookup, fanOutRoute, type Route, route } from './routing.ts';

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
  const change = complete(graph, before, facts, outcome);
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

/** The change without the next node. */
function complete(graph: Graph, before: RunState, facts: StepFacts, outcome: Outcome): StateChange {
  const context = mergedContext(graph, before, facts, outcome);
  const isWork = isAgentType(facts.type) || isOwnType(facts.type);
  const node = graph.nodes.get(facts.node);
  const isTool = facts.type === 'tool';
  // A report by a tool that may not make one counts as little as that of an agent.
  const setter = (key: string) =>
    isTool && mayReport(node, key) ? 'tool' : isTool || isWork ? 'agent' : 'engine';
  const updates = acceptedUpdates(graph, before, facts, outcome);
  const set = passesOn(before, facts) ? [] : Object.keys(updates);
  const joined = Object.entries(facts.joined?.origins ?? {}).filter(
    ([key]) => own(outcome.updates, key) === undefined || own(updates, key) !== undefined,
  );
  return {
    node: facts.node,
    visit: (own(before.visits, facts.node) ?? 0) + 1,
    outcome: nodeOutcome(outcome),
    origins: Object.fromEntries([...set.map((key) => [key, setter(key)] as const), ...joined]),
    alike: facts.repeats,
    ...(isAgentType(facts.type) ? { agent: true } : {}),
    now: {
      context,
      steps: before.steps + 1,
      last_completed_node: facts.node,
      last_outcome: outcome,
      last_failure: lastFailure(before, facts, outcome),
      next_node: null,
      arrived: before.arrived,
      at: facts.at,
    },
  };
}

/** Whether the outcome is that of the node before. A diamond in which branches meet has one itself. */
const passesOn = ({ fork }: RunState, { type, node }: StepFacts): boolean =>
  type === 'conditional' && fork?.join !== node;

/** The failure that counts after the node: its own, that of an earlier one, or none. */
function lastFailure(before: RunState, facts: StepFacts, outcome: Outcome): LastFailure | null {
  const { last_failure: last } = before;
  if (outcome.status === 'fail' && !passesOn(before, facts)) {
    const { attribution, command } = outcome;
    // A tool that reports class `agent` has checked a model's answer, which is then the final cause.
    const output = facts.type === 'tool' && outcome.class === 'agent' ? 'output' : null;
    return {
      node: facts.node,
      node_type: facts.type,
      class: outcome.class,
      class_said: outcome.classSaid === true,
      reason: outcome.reason,
      exit_code: outcome.exitCode ?? null,
      model: outcome.model ?? output,
      executable_success_since: false,
      ...(attribution === undefined ? {} : { attribution }),
      ...(command === undefined ? {} : { command }),
      ...(outcome.judge === true ? { judge: true } : {}),
    };
  }
  if (last === null || clears(last, facts, outcome)) return null;
  const settles = !last.executable_success_since && facts.executable && outcome.status === 'success';
  return settles ? { ...last, executable_success_since: true } : last;
}

/** A later success of the same node clears its failure, and so does any passed verification. */
function clears(last: LastFailure | null, facts: StepFacts, outcome: Outcome): boolean {
  if (last === null || (outcome.status !== 'success' && outcome.status !== 'partial_success')) return false;
  return last.node === facts.node || (facts.type === 'verification' && outcome.status === 'success');
}

/** Without what would replace the report of a judge or a builder by that of a node that may not make one. */
function acceptedUpdates(
  graph: Graph,
  { origins }: RunState,
  { node: id, joined }: StepFacts,
  { updates }: Outcome,
): Outcome['updates'] {
  const node = graph.nodes.get(id);
  const counts = (key: string): boolean => {
    const by = own(joined?.origins ?? {}, key);
    return by === undefined ? mayReport(node, key) : by === 'tool';
  };
  const isKept = (key: string) => own(origins, key) !== 'tool' || !isReported(key) || counts(key);
  return Object.fromEntries(Object.entries(updates).filter(([key]) => isKept(key)));
}

function mergedContext(graph: Graph, before: RunState, facts: StepFacts, outcome: Outcome): Context {
  const context: Record<string, Json> = {
    ...before.context,
    ...acceptedUpdates(graph, before, facts, outcome),
  };
  const failed = outcome.status === 'fail' && !passesOn(before, facts);
  // A later failure replaces all keys of an earlier one.
  if (failed || clears(before.last_failure, facts, outcome)) {
    for (const key of Object.keys(context)) if (key.startsWith('last_failure.')) delete context[key];
  }
  if (failed) Object.assign(context, facts.feedback);
  if (failed && graph.call !== undefined) context['last_failure.node_id'] = writtenId(graph, facts.node);
  // An output belongs to the latest tool: an empty one must not leave that of an earlier tool.
  if (facts.type === 'tool')
    for (const key of outputKeys) {
      if (own(outcome.updates, key) !== undefined) continue;
      if (facts.output === undefined || facts.output === '') delete context[key];
      else context[key] = facts.output;
    }
  // Prompts and conditions name these: an empty one is a value, too.
  for (const [key, value] of Object.entries(facts.latest ?? {})) put(context, key, value);
  context['current_node'] = writtenId(graph, facts.node);
  context['outcome'] = outcome.status;
  return context;
}

/** What conditions know of the node's execution, beyond the context. */
function lookupAfter(
  before: RunState,
  { node }: StepFacts,
  context: Context,
  outcome: Outcome,
): ConditionLookup {
  return conditionLookup(context, outcome, {
    'internal.node_visit_count': visitsInRound(before, node) + 1,
    'internal.loop_restart_count': before.restarts ?? 0,
  });
}

/** Counts the product failures by which a node's model is chosen. The count is in the context, so that it survives a resume. */
const counted = (state: RunState, node: Node): number => {
  const value = own(state.context, escalationKey(node.id));
  return typeof value === 'number' ? value : 0;
};

const counting = (state: RunState, node: Node, failures: number): RunState => ({
  ...state,
  context: { ...state.context, [escalationKey(node.id)]: failures },
});

/** The state at the start of an execution; unchanged for a node without a list of models. */
export function escalated(state: RunState, node: Node): RunState {
  if (modelsOf(node).length < 2) return state;
  const visits = own(state.visits, node.id) ?? 0;
  return counting(state, node, escalationAt(counted(state, node), visits, state.last_failure));
}

/** Counts one more failure of class `product` before a retry. */
export const oneMore = (state: RunState, node: Node): RunState =>
  modelsOf(node).length < 2 ? state : counting(state, node, counted(state, node) + 1);
