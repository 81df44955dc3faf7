/** How a finished node changes the state: its context, and the failure that counts after it. Pure. */
import { conditionLookup, outputKeys } from './context.ts';
import type { StateChange, StepFacts } from './decision.ts';
import { type Graph, isAgentType, isOwnType, writtenId } from './graph.ts';
import { type Json, own, put } from './json.ts';
import type { Context, Outcome } from './outcome.ts';
import { isReported, mayReport } from './policy/reported-keys.ts';
import { type LastFailure, nodeOutcome, type RunState } from './records/checkpoint.ts';
import { visitsInRound } from './rounds.ts';
import type { ConditionLookup } from './routing.ts';

/** The change without the next node. */
export function changeBy(graph: Graph, before: RunState, facts: StepFacts, outcome: Outcome): StateChange {
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

export function mergedContext(graph: Graph, before: RunState, facts: StepFacts, outcome: Outcome): Context {
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
export function lookupAfter(
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
