/** Goal gates: nodes that must succeed before the run can. Pure. */
import type { Graph, Node } from './graph.ts';

export const isGate = (node: Node | undefined): boolean => node?.settings.goal_gate === true;

/** The node to which an exit, or the gate itself where no edge takes its failure, sends a run while the gate is unmet: the gate's
 *  own target before the graph's; undefined for a node that is no gate, and without a target that exists. */
export function retryTarget(graph: Graph, gate: Node | undefined): string | undefined {
  if (gate === undefined || !isGate(gate)) return undefined;
  return [gate.settings, graph.settings]
    .flatMap(({ retry_target, fallback_retry_target }) => [retry_target, fallback_retry_target])
    .find((id) => id !== undefined && graph.nodes.has(id));
}
