/** Goal gates: nodes that must succeed before the run can. Pure. */
import { flag, present } from './attribute.ts';
import type { Graph, Node } from './graph.ts';

/** Whether `goal_gate` is set on the node; an invalid value is not. */
export function isGate(node: Node | undefined): boolean {
  const attribute = node === undefined ? undefined : present(node.attrs, 'goal_gate');
  const read = attribute === undefined ? undefined : flag().read(attribute.value);
  return read?.ok === true && read.value;
}

/** The node to which an exit, or the gate itself where no edge takes its failure, sends a run while the gate is unmet: the gate's
 *  own target before the graph's; undefined for a node that is no gate, and without a target that exists. */
export function retryTarget(graph: Graph, gate: Node | undefined): string | undefined {
  if (!isGate(gate)) return undefined;
  return [gate?.attrs, graph.attrs]
    .flatMap((attrs) =>
      ['retry_target', 'fallback_retry_target'].map((key) =>
        attrs === undefined ? undefined : present(attrs, key)?.value.text.trim(),
      ),
    )
    .find((id) => id !== undefined && graph.nodes.has(id));
}
