/** Goal gates: nodes that must succeed before the run can. Where a run goes while one is unmet, and how it ends. Pure. */
import { branchAt } from './branches.ts';
import { type Crossing, failsAtExit, type GateVerdict, successOf } from './crossing.ts';
import type { Graph, Node } from './graph.ts';
import { type Json, own } from './json.ts';
import { type Context, isFinalConfig } from './outcome.ts';
import type { NodeOutcome } from './records/checkpoint.ts';
import { isGoalGate } from './settings/node.ts';
import { isMet, unmetInItems, writtenGate } from './unmet-gates.ts';

/** Whether a run can succeed only after this node has. */
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

type Unmet = { readonly gate: string; readonly latest: NodeOutcome };

/** Where the run goes for an unmet gate, with the context that counts it; `why` not, as the end of a sentence. */
type Redirect =
  | { readonly target: string; readonly context: Context; readonly why?: undefined }
  | { readonly target?: undefined; readonly why: string };

/** Sends the run back from an exit for a goal gate that is not satisfied, and from a gate whose failure no edge takes. */
export function unmetGoalGate(crossing: Crossing): GateVerdict {
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
export function unmetGates({ graph, before, facts: { lane }, so: { change } }: Crossing): readonly Unmet[] {
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

/** A goal gate that is not satisfied, and has no target any more, fails the run. */
export function spentGoalGate(crossing: Crossing): GateVerdict {
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
