/** Rules that look at what has failed before: a fix that cannot work is not paid for, a success that rests on a failed
 *  tool does not count. */

import { present } from '../model/attribute.ts';
import type { LastFailure, NodeOutcome } from '../model/checkpoint.ts';
import type { Graph, Node } from '../model/graph.ts';
import { own } from '../model/own.ts';
import { scriptsNamed } from '../policy/commands.ts';
import { inScope } from '../policy/paths.ts';

/** Why no change that `node` may make can mend the last failure, or undefined. Only for an agent with a write scope:
 *  `allowed` is its `allowed_write_paths`. */
export function unfixableSource(
  graph: Graph,
  node: Node,
  allowed: readonly string[],
  last: LastFailure | null,
): string | undefined {
  if (last === null || allowed.length === 0 || last.node_type !== 'tool' || last.executable_success_since)
    return undefined;
  const failedNode = graph.nodes.get(last.node);
  if (failedNode === undefined) return undefined;
  const prefix = `unfixable_failure_source: failed node ${last.node}`;
  if (last.exit_code === 126 || last.exit_code === 127) {
    return `${prefix} could not run its command (exit code ${last.exit_code}), which no write of ${node.id} mends`;
  }
  // 86 is how a scenario says that the machine is at fault.
  if (last.exit_code === 86 && !last.class_said) {
    return `${prefix} reported exit code 86 (infra), which no write of ${node.id} mends`;
  }
  if (last.class_said) {
    if (last.class === 'product') return undefined;
    if (last.class === 'scenario' || last.class === 'infra') {
      return `${prefix} reported failure_class=${last.class}, which no write of ${node.id} mends`;
    }
  }
  const command = present(failedNode.attrs, 'tool_command')?.value.text ?? '';
  const outside = scriptsNamed(command).filter((script) => !inScope(script, allowed));
  if (outside.length === 0) return undefined;
  return `${prefix} references ${outside.join(',')} outside allowed_write_paths for ${node.id}`;
}

/** Why a success of a node with a truth gate does not count, or undefined. */
export function truthGate(
  wanted: {
    readonly requires_tool_success: boolean | undefined;
    readonly required_tool_node: string | undefined;
  },
  outcomes: Readonly<Record<string, NodeOutcome>>,
): string | undefined {
  if (wanted.requires_tool_success !== true || wanted.required_tool_node === undefined) return undefined;
  const required = wanted.required_tool_node;
  return own(outcomes, required)?.status === 'success'
    ? undefined
    : `required tool node not successful: ${required}`;
}
