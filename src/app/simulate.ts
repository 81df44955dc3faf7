/** A run without any execution: outcomes are given, the router and the gates of real runs decide. Branches are walked one after
 *  another and meet at their join. */

import { regionJoinedAt } from '../core/branches.ts';
import { nothingSpent } from '../core/budget/usage.ts';
import { callEndedAt, callResult } from '../core/call-ends.ts';
import { isCallType, openedCall, pipelineOfCall } from '../core/calls.ts';
import type { NodeKind } from '../core/contracts/node-kind.ts';
import type { PlanFacts, RunEnding, Step, StepFacts } from '../core/decision.ts';
import { openedFork, viewOf } from '../core/fork.ts';
import { truthGate } from '../core/gates.ts';
import { fanInType, fanOutType, type Graph, type Node, withoutItems } from '../core/graph.ts';
import { isHumanGate, usualOutcome } from '../core/human-gate.ts';
import { isJoinDecided, joinRulesIn } from '../core/join.ts';
import { type LaneBounds, laneBounds } from '../core/lane-bounds.ts';
import { type Outcome, succeeded } from '../core/outcome.ts';
import { openFailuresAfter } from '../core/overridden.ts';
import { startOf } from '../core/pipeline.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import { type BranchEnd, type Cursor, type Fork, ownOfBranch } from '../core/records/fork.ts';
import type { TakenAnswer } from '../core/records/question.ts';
import { journalVersion } from '../core/records/visit.ts';
import { nextAttempt, retryPolicyOf } from '../core/retry.ts';
import { inNewRound } from '../core/rounds.ts';
import { graphLimits } from '../core/settings/limits.ts';
import { plan, step } from '../core/step.ts';
import { failureFacts } from '../engine/feedback.ts';
import { openedAnew, stateAfter } from '../run/visits.ts';
import { kindsOf } from './kinds.ts';
import { limitsOf } from './limits.ts';
import { cancelledEnd, type Met, metIn, opensList } from './simulated-branches.ts';

export type SimulatedStep = {
  readonly node: Node;
  readonly visit: number;
  readonly outcome: Outcome;
  /** How often the node was tried: `retry`, and what its settings retry, is followed by another attempt. */
  readonly attempts: number;
  /** The edges that were considered, and the one that was taken; undefined at an exit. */
  readonly route: Step['route'];
  /** The node that a gate chose instead of the edge's; undefined where the edge counted. */
  readonly rerouted: string | undefined;
  /** The number of the restart that follows: the edge has `loop_restart`. */
  readonly restart: number | undefined;
  /** The branches that the node is in, from outside in; empty outside of all. */
  readonly branches: readonly string[];
  /** The branches that begin after it, and the node where they meet. */
  readonly opens: { readonly branches: readonly string[]; readonly join: string } | undefined;
  /** How the branches have ended that meet here. */
  readonly joins: readonly { readonly id: string; readonly end: BranchEnd }[];
  /** Why its branch ends before its join. */
  readonly branchFails: string | undefined;
};

export type Simulation = {
  readonly steps: readonly SimulatedStep[];
  /** Undefined if it has not ended after `most` steps. */
  readonly ending: RunEnding | undefined;
};

/** A time for all steps: none takes any. */
const at = '1970-01-01T00:00:00.000Z';

/** Simulates a run of a linted graph. `outcomes` has the outcomes of a node, attempt by attempt; the last one is repeated, and
 *  a node without any succeeds; a join without any is what its branches make of it. At most `most` steps. */
export function simulate(
  graph: Graph,
  outcomes: ReadonlyMap<string, readonly Outcome[]>,
  most: number,
): Simulation {
  const walk = new Walk(graph, outcomes, most);
  const { ending } = walk.from({ graph, state: initialState(graph) });
  return { steps: walk.steps, ending };
}

/** What executes nodes one after another: the run, or a branch. */
type Walked = { readonly graph: Graph; readonly state: RunState; readonly lane?: LaneBounds };

/** Where it has come to: a branch has ended, or the run; neither after `most` steps. */
type Arrived = { readonly state: RunState; readonly ended?: BranchEnd; readonly ending?: RunEnding };

class Walk {
  readonly steps: SimulatedStep[] = [];
  private readonly used = new Map<string, number>();
  private readonly facts: PlanFacts & { readonly kinds: readonly NodeKind[] };
  private readonly within: string[] = [];

  constructor(
    graph: Graph,
    private readonly outcomes: ReadonlyMap<string, readonly Outcome[]>,
    private readonly most: number,
  ) {
    const caps = limitsOf({}, graph);
    const kinds = kindsOf(graph);
    this.facts = { kinds, caps, elapsedMs: 0, spent: nothingSpent, unpriced: [], interrupted: false };
  }

  from({ graph, state: first, lane }: Walked): Arrived {
    let state = first;
    while (this.steps.length < this.most) {
      const next = plan(graph, state, this.facts);
      if (next.do !== 'execute') {
        if (next.do !== 'finish') return { state };
        const { ending } = next;
        const isOwn = lane !== undefined && ending.ofBranch === true;
        return isOwn ? { state, ended: failedEnd(ending.reason) } : { state, ending };
      }
      const { done, after } = this.execute({ graph, state, ...(lane === undefined ? {} : { lane }) }, next);
      const { decision } = done;
      if (decision.do === 'finish') return { state: after, ending: decision.ending };
      if (decision.do === 'end_branch') return { state: after, ended: decision.ended };
      state = after;
      if (after.fork === undefined || done.fork === undefined) continue;
      const met = this.branches(graph, after, after.fork);
      if (!('fork' in met)) return met.arrived;
      state = { ...met.state, fork: met.fork };
    }
    return { state };
  }

  /** One execution of the state's next node, and the state after it; with the fork that it opens. */
  private execute(
    { graph, state, lane }: Walked,
    { node, kind, visit, state: planned }: Extract<ReturnType<typeof plan>, { do: 'execute' }>,
  ): { readonly done: Step; readonly after: RunState } {
    const met = metAt(graph, node, state);
    const before =
      met === undefined ? planned : { ...planned, context: { ...planned.context, ...met.outcome.updates } };
    const { outcome: ended, attempts } = this.ending(graph, node, state, met?.outcome);
    const outcome = truthGate({ node, kind }, state, ended);
    const stage = { node: node.id, type: kind.type, executable: kind.executable, at };
    const feedback =
      outcome.status === 'fail' && kind.type !== 'conditional' ? failureFacts(stage, outcome) : {};
    const facts: StepFacts = {
      ...stage,
      ...{ feedback, lane, opens: this.opens(graph, node, planned, outcome) },
      joined: met === undefined ? undefined : { origins: {} },
    };
    const done = step(graph, before, outcome, facts);
    this.steps.push({
      ...wayOn(done),
      node,
      visit,
      outcome,
      attempts,
      joins: met?.ends ?? [],
      branches: [...this.within],
    });
    const asked = isHumanGate(node) ? { answer: simulatedAnswer(outcome) } : {};
    const visited = { node: node.id, node_type: kind.type, visit, outcome, ...asked };
    const { change } = done;
    const { fork: _, ...rest } = before;
    const now: RunState = {
      ...rest,
      ...change.now,
      visits: { ...state.visits, [node.id]: visit },
      outcomes: { ...state.outcomes, [node.id]: change.outcome },
      open_failures: [...openFailuresAfter(state.open_failures ?? [], visited)],
    };
    if (callEndedAt(state, node.id) !== undefined && done.joined !== undefined)
      now.outcomes[done.joined] = change.outcome;
    const after = change.restart === undefined ? now : inNewRound(now, change.restart);
    if (done.fork === undefined) return { done, after };
    const by = { node: node.id, step: this.steps.length, after: 'none' };
    const fork = openedFork(after, done.fork, by);
    if (fork.call !== true) return { done, after: { ...after, fork } };
    const anew = { ...after };
    return { done, after: { ...anew, fork: openedAnew(anew, fork) } };
  }

  /** The branches that begin after a node where its edges do not say which. A call with a given outcome is not walked. */
  private opens(graph: Graph, node: Node, state: RunState, outcome: Outcome): StepFacts['opens'] {
    const isWalked = isCallType(node.type) && !this.outcomes.has(withoutItems(node.id));
    if (!isWalked || graph.children === undefined) return opensList(graph, node, state, outcome);
    return openedCall(graph, node, (text) => ({ text }));
  }

  /** Walks the branches of a fork one after another, until they have ended or have decided the join. */
  private branches(
    graph: Graph,
    opened: RunState,
    { branches: cursors, ...fork }: Fork,
  ): { readonly state: RunState; readonly fork: Fork } | { readonly arrived: Arrived } {
    const rules = joinRulesIn(graph, fork);
    let state = opened;
    const branches: Record<string, Cursor> = { ...cursors };
    for (const id of Object.keys(cursors)) {
      const cursor = branches[id];
      if (cursor === undefined) continue;
      if (
        isJoinDecided(
          rules,
          Object.values(branches).map(({ ended }) => ended),
        )
      ) {
        branches[id] = { ...cursor, ended: cancelledEnd };
        continue;
      }
      const lane = laneBounds(graph, { ...fork, branches }, id, cursor);
      this.within.push(id);
      const view = viewOf({ ...state, fork: { ...fork, branches } }, id);
      const arrived = this.from({ graph: lane.graph, state: view, lane });
      this.within.pop();
      if (arrived.ended === undefined) return { arrived };
      branches[id] = { ...cursor, ...ownOf(arrived.state), ended: arrived.ended };
      state = { ...arrived.state, ...ownOf(state) };
    }
    const [callee] = fork.call === true ? Object.values(branches) : [];
    const reached = callee?.next_node ?? fork.join;
    if (callee !== undefined) state = { ...state, next_node: reached };
    return { state, fork: { ...fork, join: reached, branches } };
  }

  /** How an execution ends, by the outcomes of its attempts that no earlier execution has used. `joined`: what the branches make of
   *  it that meet in the node. */
  private ending(
    graph: Graph,
    node: Node,
    { last_outcome: last }: RunState,
    joined: Outcome | undefined,
  ): Pick<SimulatedStep, 'outcome' | 'attempts'> {
    const id = withoutItems(node.id);
    const given = this.outcomes.get(id) ?? this.outcomes.get(node.id) ?? [];
    const onlyJoins = joined !== undefined && [fanInType, 'conditional', 'exit'].includes(node.type);
    const isFailed = joined?.status === 'fail' && !onlyJoins;
    if (isFailed || (onlyJoins && given.length === 0))
      return { outcome: withoutUpdates(joined), attempts: 1 };
    if (node.type === 'conditional' && !onlyJoins)
      return { outcome: last === null ? succeeded() : { ...last, updates: {}, notes: '' }, attempts: 1 };
    const usual = (isHumanGate(node) ? usualOutcome(graph, node) : undefined) ?? succeeded();
    const policy = retryPolicyOf(node, graphLimits.park_after.otherwise);
    const used = this.used.get(id) ?? 0;
    for (let attempt = 1; ; attempt++) {
      const outcome = given[Math.min(used + attempt, given.length) - 1] ?? usual;
      const next = nextAttempt(policy, attempt < mostAttempts ? attempt : Number.POSITIVE_INFINITY, outcome);
      if (next.again) continue;
      this.used.set(id, used + attempt);
      return { outcome: next.outcome, attempts: attempt };
    }
  }
}

const withoutUpdates = (outcome: Outcome): Outcome => ({ ...outcome, updates: {} });

/** What of a state is that of the run or of one branch alone. */
const ownOf = (
  state: RunState,
): Pick<RunState, (typeof ownOfBranch)[number]> & { readonly snapshot: string } => {
  const entries = ownOfBranch.map((key) => [key, state[key]] as const);
  return Object.fromEntries(entries) as ReturnType<typeof ownOf>;
};

/** The way on, as people see it. */
function wayOn({ route, decision, fork, change }: Step) {
  const ended = decision.do === 'end_branch' ? decision.ended : undefined;
  const goes = decision.do === 'run' && fork === undefined ? decision.node : undefined;
  const isReached = ended !== undefined && route?.edge?.to === change.now.next_node;
  return {
    route,
    rerouted: goes !== undefined && goes !== route?.edge?.to ? goes : undefined,
    restart: change.restart,
    opens: fork === undefined ? undefined : { branches: fork.branches.map(({ id }) => id), join: fork.join },
    branchFails: ended?.ok === false && !isReached ? ended.reason : undefined,
  };
}

const failedEnd = (reason: string): BranchEnd => ({ ok: false, status: 'failed', reason, class: 'budget' });

/** What meets in a node: branches, or the end of a call. */
function metAt(graph: Graph, node: Node, state: RunState): Met | undefined {
  const call = callEndedAt(state, node.id);
  if (call === undefined) return state.fork?.join === node.id ? metIn(graph, state, state.fork) : undefined;
  const { outcome } = callResult(graph, pipelineOfCall(graph, call.node), call);
  return { outcome, ends: [] };
}

const simulatedAnswer = ({ label }: Outcome): TakenAnswer => ({
  label,
  ...{ by: 'simulate', at, from: 'auto', question_sha256: '' },
});

const initialState = (graph: Graph): RunState =>
  stateAfter([
    {
      schema_version: journalVersion,
      ...{ type: 'Start', run_id: 'simulated', seq: 1, epoch: 1, prev: '', at, manifest_sha256: '' },
      ...{ next_node: startOf(graph).id, context: {}, origins: {}, snapshot: 'none' },
    },
  ]);

/** Attempts at one execution that are simulated; all but the first given ones are alike. */
const mostAttempts = 10_000;

/** Nodes whose outcome cannot be given: they pass on another one, or always succeed. */
export const passesOn = (graph: Graph, node: Node): boolean =>
  ['start', 'exit', 'conditional', fanOutType].includes(node.type) &&
  !(node.type === 'conditional' && regionJoinedAt(graph, node.id) !== undefined);

/** How many of the given outcomes of `node` a simulation did not use. */
export const unusedOutcomes = ({ steps }: Simulation, node: string, given: readonly Outcome[]): number =>
  steps
    .filter((one) => one.node.id === node)
    .reduce((left, { attempts }) => Math.max(0, left - attempts), given.length);
