/** The rules that keep a run from its next node: `gatesBefore` end it before a node starts, `gatesAfter` overrule the edge that a
 *  finished node leaves by. Each is a pure function of the state and of facts that were gathered before. */
import type { Alike } from '../model/attribution.ts';
import type { LastFailure, NodeOutcome, RunState } from '../model/checkpoint.ts';
import { isGate, retryTarget } from '../model/goal-gate.ts';
import type { Graph, Node } from '../model/graph.ts';
import type { Json } from '../model/json.ts';
import type { Context, Outcome } from '../model/outcome.ts';
import { failed, keptOfAttempt } from '../model/outcome.ts';
import { own } from '../model/own.ts';
import { modelsOf } from '../nodes/escalation.ts';
import type { NodeKind } from '../nodes/kind.ts';
import { leadsTo, loopOf } from '../policy/loops.ts';
import { unfixableSource } from '../policy/unfixable.ts';
import { capHit, spendHit } from './caps.ts';
import type { PlanFacts, RunEnding, Step, StepFacts } from './decision.ts';

/** A node that is about to start. */
export type NodeEntry = {
  readonly graph: Graph;
  readonly state: RunState;
  readonly node: Node;
  readonly kind: NodeKind;
  readonly facts: PlanFacts;
};

/** Why the run ends before a node, in the order in which they are asked. */
export const gatesBefore: readonly ((entry: NodeEntry) => string | undefined)[] = [
  visitsStepsAndTime,
  ({ facts: { caps, spent, unpriced } }) => spendHit({ caps, spent, unpriced }, caps.unknownCost),
  unfixableFailure,
  ({ facts }) => facts.replay,
];

function visitsStepsAndTime({ state, node, facts }: NodeEntry): string | undefined {
  const { caps, elapsedMs } = facts;
  return capHit(
    caps,
    {
      id: node.id,
      maxVisits: node.settings.max_visits,
      visits: own(state.visits, node.id) ?? 0,
      maxWallMs: node.settings.max_wall,
      elapsedMs: (own(state.node_ms ?? {}, node.id) ?? 0) + (state.cut_ms ?? 0),
    },
    { steps: state.steps, elapsedMs },
  );
}

function unfixableFailure({ graph, state, node, kind }: NodeEntry): string | undefined {
  if (kind.type !== 'codergen') return undefined;
  const { allowed_write_paths: allowed = [] } = node.settings;
  return unfixableSource(graph, node, allowed, state.last_failure);
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
  rejectedByAudit,
  stalledLoop,
  ({ facts }) => (facts.replay === undefined ? undefined : end(facts.replay)),
];

const end = (reason: string): GateVerdict => ({ end: { ok: false, exitNode: null, reason, code: 1 } });

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
  | { readonly target: string; readonly context: Context }
  | { readonly target?: undefined; readonly why: string };

/** Sends the run back from an exit for a goal gate that is not satisfied, and from a gate whose failure no edge takes. */
function unmetGoalGate(crossing: Crossing): GateVerdict {
  const { so, facts, outcome, graph } = crossing;
  const { context } = so.change.now;
  if (successOf(so) !== undefined) {
    for (const { gate } of unmetGates(crossing)) {
      const way = redirect(graph, gate, context);
      if (way.target !== undefined) return { reroute: way.target, context: way.context };
    }
    return undefined;
  }
  const noEdge = so.route !== undefined && so.route.edge === undefined && so.decision.do === 'finish';
  if (!noEdge || !isGate(graph.nodes.get(facts.node)) || isMet(outcome)) return undefined;
  // A cause that every further attempt would meet is final.
  if (outcome.status === 'fail' && (outcome.hopeless === true || outcome.class === 'budget'))
    return undefined;
  const way = redirect(graph, facts.node, context);
  if (way.target !== undefined) return { reroute: way.target, context: way.context };
  const { ending } = so.decision;
  return { end: { ...ending, reason: `${ending.reason}${way.why}` } };
}

const isMet = ({ status }: Pick<NodeOutcome, 'status'>): boolean =>
  status === 'success' || status === 'partial_success';

/** The executed gates whose latest outcome is neither success nor partial success. */
const unmetGates = ({ graph, before, so: { change } }: Crossing): readonly Unmet[] =>
  [...graph.nodes.values()].filter(isGate).flatMap(({ id: gate }) => {
    const latest = gate === change.node ? change.outcome : own(before.outcomes, gate);
    return latest === undefined || isMet(latest) ? [] : [{ gate, latest }];
  });

/** The gate's target before the graph's, as often as `max_goal_gate_redirects` allows. */
function redirect(graph: Graph, gate: string, context: Context): Redirect {
  const target = retryTarget(graph, graph.nodes.get(gate));
  if (target === undefined) return { why: '' };
  const key = `internal.goal_gate_redirects.${gate}`;
  const most = graph.settings.max_goal_gate_redirects;
  const count = Number(own(context, key) ?? 0);
  if (count >= most)
    return { why: ` (it has sent the run back ${count} times, max_goal_gate_redirects=${most})` };
  return { target, context: { ...context, [key]: count + 1 } satisfies Record<string, Json> };
}

/** No failure walks into a success by an unconditional edge. */
function failureIntoExit(crossing: Crossing): GateVerdict {
  const { before, so } = crossing;
  const previous = before.last_outcome;
  if (successOf(so) === undefined || previous?.status !== 'fail' || before.arrived?.conditional === true)
    return undefined;
  return failsAtExit(
    crossing,
    `node ${before.last_completed_node} failed and reached the exit "${so.change.node}" by an unconditional edge${previous.reason === '' ? '' : `: ${previous.reason}`} (a condition such as outcome=fail on the edge forgives it)`,
  );
}

/** A goal gate that is not satisfied, and has no target any more, fails the run. */
function spentGoalGate(crossing: Crossing): GateVerdict {
  const { graph, so } = crossing;
  if (successOf(so) === undefined) return undefined;
  const [first] = unmetGates(crossing);
  if (first === undefined) return undefined;
  const { gate, latest } = first;
  const way = redirect(graph, gate, so.change.now.context);
  return failsAtExit(
    crossing,
    `goal gate ${gate} is not satisfied: its outcome is ${latest.status}${latest.reason === '' ? '' : `: ${latest.reason}`}${way.target === undefined ? way.why : ''}`,
  );
}

function rejectedByAudit({ facts: { audit }, so }: Crossing): GateVerdict {
  const success = successOf(so);
  if (success === undefined || audit === undefined) return undefined;
  return { end: { ...success, ok: false, reason: audit, code: 1 } };
}

/** Ends a loop that makes no progress, with the execution that shows it. */
function stalledLoop({ graph, before, facts, so: { change, decision } }: Crossing): GateVerdict {
  if (decision.do === 'finish' || facts.testStop === true) return undefined;
  // An exit sends the run back too, if a goal gate is not satisfied.
  const atExit = facts.type === 'exit';
  const failing = graph.nodes.get(atExit ? (change.now.last_failure?.node ?? '') : change.node);
  if (failing === undefined) return undefined;
  const repeats = atExit ? own(before.alike ?? {}, failing.id) : facts.repeats;
  const reason = loopStopped(graph, failing, decision.node, repeats);
  return reason === undefined ? undefined : end(reason);
}

/** Equal failures that stop a loop by default. */
const usualRepeats = 3;

/** Why the loop that `next` leads back into ends, or undefined. */
export function loopStopped(
  graph: Graph,
  node: Node,
  next: string,
  alike: Alike | null | undefined,
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
    return one?.type === 'codergen' ? modelsOf(one).length + 1 : 0;
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
