/** Loops that make no progress: a node that fails alike several times, with no change in between. Pure. */
import { type Crossing, failedEnd, type GateVerdict } from './crossing.ts';
import { modelsOf } from './escalation.ts';
import { type Graph, isAgentType, type Node } from './graph.ts';
import { own } from './json.ts';
import { leadsTo, loopOf } from './loop-nodes.ts';
import type { RepeatedFailure } from './outcome.ts';

/** Ends a loop that makes no progress, with the execution that shows it. */
export function stalledLoop({ graph, before, facts, so: { change, decision } }: Crossing): GateVerdict {
  if (decision.do !== 'run' || facts.testStop === true) return undefined;
  // An exit sends the run back too, if a goal gate is not satisfied.
  const atExit = facts.type === 'exit';
  const failing = graph.nodes.get(atExit ? (change.now.last_failure?.node ?? '') : change.node);
  if (failing === undefined) return undefined;
  const repeats = atExit ? own(before.alike ?? {}, failing.id) : facts.repeats;
  const reason = loopStopped(graph, failing, decision.node, repeats);
  return reason === undefined ? undefined : failedEnd(reason, { kind: 'loop_stopped' });
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
