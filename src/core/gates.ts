/** The rules that keep a run from its next node: `gatesBefore` end it before a node starts, `gatesAfter` overrule the edge that a
 *  finished node leaves by. Each is a pure function of the state and of facts that were gathered before. */
import { branchAt } from './branches.ts';
import { capHit, type LimitHit, ofRun, spendHit } from './budget/limits.ts';
import { callEndedAt, managerEnd } from './call-ends.ts';
import type { NodeKind } from './contracts/node-kind.ts';
import type { PlanFacts, RunEnding, Step, StepFacts } from './decision.ts';
import { modelsOf } from './escalation.ts';
import { type Graph, isAgentType, type Node } from './graph.ts';
import { type Json, own } from './json.ts';
import { leadsTo, loopOf } from './loop-nodes.ts';
import {
  type Context,
  type FailureClass,
  failed,
  failureClasses,
  isFinalConfig,
  keptOfAttempt,
  missesProgram,
  type Outcome,
  type RepeatedFailure,
} from './outcome.ts';
import { overriddenEnd } from './overridden.ts';
import { scriptsNamed } from './policy/commands.ts';
import { inScope } from './policy/paths.ts';
import type { EndCause, LastFailure, NodeOutcome, RunState } from './records/checkpoint.ts';
import { restartsSpent, visitsInRound } from './rounds.ts';
import { isGoalGate } from './settings/node.ts';
import { isMet, unmetInItems, writtenGate } from './unmet-gates.ts';

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

/** A finished node, and where it leads as far as the edges and the gates before this one say. */
export type Crossing = {
  readonly graph: Graph;
  /** The state before the node. */
  readonly before: RunState;
  readonly outcome: Outcome;
  readonly facts: StepFacts;
  readonly so: Step;
};

export type GateVerdict =
  | { readonly reroute: string; readonly context: Context }
  | { readonly end: RunEnding }
  | undefined;

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
  return facts.replay === undefined ? undefined : end(facts.replay);
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

const end = (reason: string, cause?: EndCause): GateVerdict => ({
  end: { ok: false, exitNode: null, reason, code: 1, ...(cause === undefined ? {} : { cause }) },
});

/** The success that the run would end with. */
const successOf = ({ decision }: Step): RunEnding | undefined =>
  decision.do === 'finish' && decision.ending.ok ? decision.ending : undefined;

/** 3 if a model's API or network is the final cause, 4 if its output is, else 1. */
export const failureCode = (last: LastFailure | null): number =>
  last?.model === 'api' ? 3 : last?.model === 'output' ? 4 : 1;

const failsAtExit = ({ so: { change } }: Crossing, reason: string): GateVerdict => ({
  end: { ok: false, exitNode: change.node, reason, code: failureCode(change.now.last_failure) },
});

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

type Unmet = { readonly gate: string; readonly latest: NodeOutcome };

/** Where the run goes for an unmet gate, with the context that counts it; `why` not, as the end of a sentence. */
type Redirect =
  | { readonly target: string; readonly context: Context; readonly why?: undefined }
  | { readonly target?: undefined; readonly why: string };

/** Sends the run back from an exit for a goal gate that is not satisfied, and from a gate whose failure no edge takes. */
function unmetGoalGate(crossing: Crossing): GateVerdict {
  const { so, facts, outcome, graph } = crossing;
  const { context } = so.change.now;
  if (successOf(so) !== undefined || reachesJoin(crossing)) {
    for (const { gate } of unmetGates(crossing)) {
      const way = redirect(crossing, gate, context);
      if (way.target !== undefined) return { reroute: way.target, context: way.context };
    }
    return undefined;
  }
  const noEdge = so.route !== undefined && so.route.edge === undefined && so.decision.do === 'finish';
  if (!noEdge || !isGate(graph.nodes.get(facts.node)) || isMet(outcome)) return undefined;
  // A cause that every further attempt would meet is final.
  if (outcome.status === 'fail' && (outcome.hopeless || outcome.class === 'budget' || isFinalConfig(outcome)))
    return undefined;
  const way = redirect(crossing, facts.node, context);
  if (way.target !== undefined) return { reroute: way.target, context: way.context };
  const { ending } = so.decision;
  return { end: { ...ending, reason: `${ending.reason}${way.why}` } };
}

/** The branch is about to end where it meets the others. */
const reachesJoin = ({ so: { decision }, facts: { lane } }: Crossing): boolean =>
  decision.do === 'run' && lane?.joins.has(decision.node) === true;

/** The executed gates whose latest outcome is neither success nor partial success. In a branch its own: those of branches in it were
 *  looked at where these met. A run, and a called pipeline, ends with those of its branches as well. */
function unmetGates({ graph, before, facts: { lane }, so: { change } }: Crossing): readonly Unmet[] {
  const isWhole = lane === undefined || lane.call === true;
  const ids = [...graph.nodes.values()].filter(isGate).map(({ id }) => id);
  const looked = isWhole
    ? [...ids, ...unmetInItems(change.now.context)]
    : ids.filter((id) => lane.nodes.has(id));
  return looked.flatMap((gate) => {
    const latest = gate === change.node ? change.outcome : own(before.outcomes, gate);
    return latest === undefined || isMet(latest) ? [] : [{ gate, latest }];
  });
}

/** The gate's target before the graph's, as often as `max_goal_gate_redirects` allows. */
function redirect({ graph, facts: { lane } }: Crossing, gate: string, context: Context): Redirect {
  // Only a node of the same branch: no branch has another one's workspace, and the run has none of theirs.
  const isInside = (id: string): boolean =>
    lane === undefined ? branchAt(graph, id) === undefined : lane.nodes.has(id);
  const target = retryTarget(graph, writtenGate(graph, gate), isInside);
  if (target === undefined) return { why: '' };
  const key = `internal.goal_gate_redirects.${gate}`;
  const most = graph.settings.max_goal_gate_redirects;
  const count = Number(own(context, key) ?? 0);
  if (count >= most)
    return { why: ` (it has sent the run back ${count} times, max_goal_gate_redirects=${most})` };
  return { target, context: { ...context, [key]: count + 1 } satisfies Record<string, Json> };
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

/** A goal gate that is not satisfied, and has no target any more, fails the run. */
function spentGoalGate(crossing: Crossing): GateVerdict {
  const { so, facts } = crossing;
  if (successOf(so) === undefined && !reachesJoin(crossing)) return undefined;
  const way = ({ gate }: Unmet): Redirect => redirect(crossing, gate, so.change.now.context);
  // A gate without a target in its branch is looked at once more at the exit, one of a call is not.
  const isFinal = (one: Unmet): boolean =>
    facts.lane === undefined || facts.lane.call === true || way(one).why !== '';
  const first = unmetGates(crossing).find(isFinal);
  if (first === undefined) return undefined;
  const { gate, latest } = first;
  return failsAtExit(
    crossing,
    `goal gate ${gate} is not satisfied: its outcome is ${latest.status}${latest.reason === '' ? '' : `: ${latest.reason}`}${way(first).why ?? ''}`,
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

/** Ends a loop that makes no progress, with the execution that shows it. */
function stalledLoop({ graph, before, facts, so: { change, decision } }: Crossing): GateVerdict {
  if (decision.do !== 'run' || facts.testStop === true) return undefined;
  // An exit sends the run back too, if a goal gate is not satisfied.
  const atExit = facts.type === 'exit';
  const failing = graph.nodes.get(atExit ? (change.now.last_failure?.node ?? '') : change.node);
  if (failing === undefined) return undefined;
  const repeats = atExit ? own(before.alike ?? {}, failing.id) : facts.repeats;
  const reason = loopStopped(graph, failing, decision.node, repeats);
  return reason === undefined ? undefined : end(reason, { kind: 'loop_stopped' });
}

/** Equal failures that stop a loop by default. */
const usualRepeats = 3;

/** Why the loop that `next` leads back into ends, or undefined. */
export function loopStopped(
  graph: Graph,
  node: Node,
  next: string,
  alike: RepeatedFailure | null | undefined,
): string | undefined {
  if (alike == null || !leadsTo(graph, next, node.id)) return undefined;
  const most = mostRepeats(graph, node, next);
  if (most === 0 || alike.count < most) return undefined;
  const more = alike.count > alike.visits.length ? '…, ' : '';
  return `loop_stopped: node ${node.id} failed alike ${alike.count} times with no change in between (visits ${more}${alike.visits.join(', ')}): ${alike.head}`;
}

/** How many equal failures stop the loop; 0 for none. By default each model of an agent in the loop that tries several has
 *  its turn. */
function mostRepeats(graph: Graph, node: Node, next: string): number {
  if (node.settings.breaker !== undefined) return node.settings.breaker;
  const models = loopOf(graph, next, node.id).map((id) => {
    const one = graph.nodes.get(id);
    return one !== undefined && isAgentType(one.type) ? modelsOf(one).length + 1 : 0;
  });
  return Math.max(usualRepeats, ...models);
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

/** Goal gates: nodes that must succeed before the run can. Pure. */
export const isGate = (node: Node | undefined): boolean => node !== undefined && isGoalGate(node.settings);

/** The node to which an exit, or the gate itself where no edge takes its failure, sends a run while the gate is unmet: the gate's
 *  own target before the graph's; undefined for a node that is no gate, and without a target that exists and is `isInside`. */
export function retryTarget(
  graph: Graph,
  gate: Node | undefined,
  isInside: (id: string) => boolean = () => true,
): string | undefined {
  if (gate === undefined || !isGate(gate)) return undefined;
  return [gate.settings, graph.settings]
    .flatMap(({ retry_target, fallback_retry_target }) => [retry_target, fallback_retry_target])
    .find((id) => id !== undefined && graph.nodes.has(id) && isInside(id));
}

/* Whether a fix can work at all: the class of the last failure, and what an agent may write. Pure. */

/** What to do about a failure that is not the product's. */
const remedies: Partial<Record<LastFailure['class'], string>> = {
  scenario: 'fix the scenario',
  infra: 'fix the machine, the network or the key that it needs',
  config: 'fix the command of the node, or install what it runs',
};

/** Whether a command misses a program that an agent may bring; a scenario's programs are the machine's. */
const isBringable = (last: LastFailure): boolean =>
  last.class === 'config' &&
  !last.class_said &&
  last.judge !== true &&
  missesProgram({ ...last, exitCode: last.exit_code });

/** Why no change that the agent of `node` may make can fix the last failure, or undefined. `allowed` is its
 *  `allowed_write_paths`. An agent cannot fix a scenario, the machine or the configuration: an agent on a path back
 *  to such a failure does not start. An agent with a write scope is also checked against the failed scripts. */
export function unfixableSource(
  graph: Graph,
  node: Node,
  allowed: readonly string[],
  last: LastFailure | null,
): string | undefined {
  const failedNode = last === null ? undefined : graph.nodes.get(last.node);
  if (last === null || failedNode === undefined) return undefined;
  const prefix = `unfixable_failure_source: failed node ${last.node}`;
  const inOwnScope = allowed.length > 0 && last.node_type === 'tool' && !last.executable_success_since;
  const { attribution } = last;
  const remedy = remedies[last.class];
  if (isBringable(last) && allowed.length === 0) return undefined;
  if (remedy !== undefined && (last.class_said || (attribution ?? { how: 'default' }).how !== 'default')) {
    // Only a new run of the scenario can clear its failure.
    const settled = last.executable_success_since && last.judge !== true;
    if (!inOwnScope && (settled || !leadsTo(graph, node.id, last.node))) return undefined;
    const why = attribution?.why ?? `failure_class=${last.class}`;
    const then =
      last.class === 'scenario'
        ? 'start a new run: this one and its forks keep theirs'
        : `run the node again (factory fork RUN --at ${last.node} --before)`;
    return `${prefix} failed with class ${last.class} (${why}), which no change by ${node.id} fixes; ${remedy}, then ${then}`;
  }
  if (!inOwnScope || (last.class_said && last.class === 'product')) return undefined;
  const command = failedNode.settings.tool_command ?? '';
  const outside = scriptsNamed(command).filter((script) => !inScope(script, allowed));
  if (outside.length === 0) return undefined;
  return `${prefix} references ${outside.join(',')} outside allowed_write_paths for ${node.id}`;
}

/** The class of a failure that no agent can fix, of a run that ended for this reason; a resume would start with the agent. */
export const unfixableClass = (reason: string): FailureClass | undefined => {
  const found = /^unfixable_failure_source: failed node \S+ failed with class (\w+) /.exec(reason)?.[1];
  return failureClasses.find((one) => one === found);
};
