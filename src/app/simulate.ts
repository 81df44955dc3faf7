/** A run without any execution: outcomes are given, the router and the gates of real runs decide. */

import { nothingSpent } from '../core/budget/usage.ts';
import type { RunEnding, Step } from '../core/decision.ts';
import { truthGate } from '../core/gates.ts';
import type { Graph, Node } from '../core/graph.ts';
import { isHumanGate, usualOutcome } from '../core/human-gate.ts';
import { type Outcome, succeeded } from '../core/outcome.ts';
import { openFailuresAfter } from '../core/overridden.ts';
import { startOf } from '../core/pipeline.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import type { TakenAnswer } from '../core/records/question.ts';
import { journalVersion } from '../core/records/visit.ts';
import { nextAttempt, retryPolicyOf } from '../core/retry.ts';
import { inNewRound } from '../core/rounds.ts';
import { graphLimits } from '../core/settings/limits.ts';
import { plan, step } from '../core/step.ts';
import { failureFacts } from '../engine/feedback.ts';
import { stateAfter } from '../run/visits.ts';
import { kindsOf } from './kinds.ts';
import { limitsOf } from './limits.ts';

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
};

export type Simulation = {
  readonly steps: readonly SimulatedStep[];
  /** Undefined if it has not ended after `most` steps. */
  readonly ending: RunEnding | undefined;
};

/** A time for all steps: none takes any. */
const at = '1970-01-01T00:00:00.000Z';

/** Simulates a run of a linted graph. `outcomes` has the outcomes of a node, attempt by attempt; the last one is repeated, and
 *  a node without any succeeds. At most `most` steps. */
export function simulate(
  graph: Graph,
  outcomes: ReadonlyMap<string, readonly Outcome[]>,
  most: number,
): Simulation {
  const caps = limitsOf({}, graph);
  const facts = {
    kinds: kindsOf(graph),
    caps,
    elapsedMs: 0,
    spent: nothingSpent,
    unpriced: [],
    interrupted: false,
  };
  const steps: SimulatedStep[] = [];
  const used = new Map<string, number>();
  let state = initialState(graph);
  while (steps.length < most) {
    const next = plan(graph, state, facts);
    if (next.do !== 'execute') return { steps, ending: next.do === 'finish' ? next.ending : undefined };
    const { node, kind, visit } = next;
    const before = used.get(node.id) ?? 0;
    const { outcome: ended, attempts } = ending(graph, node, outcomes.get(node.id) ?? [], before, state);
    used.set(node.id, before + attempts);
    const outcome = truthGate({ node, kind }, state, ended);
    const stage = { node: node.id, type: kind.type, executable: kind.executable, at };
    const feedback =
      outcome.status === 'fail' && kind.type !== 'conditional' ? failureFacts(stage, outcome) : {};
    const { change, route, decision } = step(graph, next.state, outcome, { ...stage, feedback });
    const goes = decision.do === 'run' ? decision.node : undefined;
    const rerouted = goes !== undefined && goes !== route?.edge?.to ? goes : undefined;
    steps.push({ node, visit, outcome, attempts, route, rerouted, restart: change.restart });
    if (decision.do === 'finish') return { steps, ending: decision.ending };
    const visited = { node: node.id, node_type: kind.type, visit, outcome };
    const asked = isHumanGate(node) ? { answer: simulatedAnswer(outcome) } : {};
    const after = {
      ...next.state,
      ...change.now,
      visits: { ...state.visits, [node.id]: visit },
      outcomes: { ...state.outcomes, [node.id]: change.outcome },
      open_failures: [...openFailuresAfter(state.open_failures ?? [], { ...visited, ...asked })],
    };
    state = change.restart === undefined ? after : inNewRound(after, change.restart);
  }
  return { steps, ending: undefined };
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

/** How an execution ends, by the outcomes of its attempts; `used` of them belong to earlier executions. */
function ending(
  graph: Graph,
  node: Node,
  given: readonly Outcome[],
  used: number,
  { last_outcome: last }: RunState,
): Pick<SimulatedStep, 'outcome' | 'attempts'> {
  if (node.type === 'conditional')
    return { outcome: last === null ? succeeded() : { ...last, updates: {}, notes: '' }, attempts: 1 };
  const usual = (isHumanGate(node) ? usualOutcome(graph, node) : undefined) ?? succeeded();
  const policy = retryPolicyOf(node, graphLimits.park_after.otherwise);
  for (let attempt = 1; ; attempt++) {
    const outcome = given[Math.min(used + attempt, given.length) - 1] ?? usual;
    const next = nextAttempt(policy, attempt < mostAttempts ? attempt : Number.POSITIVE_INFINITY, outcome);
    if (!next.again) return { outcome: next.outcome, attempts: attempt };
  }
}

/** Attempts at one execution that are simulated; all but the first given ones are alike. */
const mostAttempts = 10_000;

/** Nodes whose outcome cannot be given: they pass on another one, or always succeed. */
export const passesOn = (node: Node): boolean => ['start', 'exit', 'conditional'].includes(node.type);

/** How many of the given outcomes of `node` a simulation did not use. */
export const unusedOutcomes = ({ steps }: Simulation, node: string, given: readonly Outcome[]): number =>
  steps
    .filter((one) => one.node.id === node)
    .reduce((left, { attempts }) => Math.max(0, left - attempts), given.length);
