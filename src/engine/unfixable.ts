/** Rules about earlier failures: warn about a fix that cannot work, and reject a success that depends on a failed tool. */
import { readAttributes } from '../model/attribute.ts';
import type { LastFailure, NodeOutcome } from '../model/checkpoint.ts';
import type { Graph, Node } from '../model/graph.ts';
import { own } from '../model/own.ts';
import { kindOf } from '../model/resolve.ts';
import type { NodeKind } from '../nodes/kind.ts';
import { executableAttributes } from '../nodes/kind.ts';
import { loopOf } from '../policy/loops.ts';
import { inScope } from '../policy/paths.ts';
import { filesNamed } from '../policy/scenarios.ts';

/** The files that a failed command names, if all agents of its loop have a write scope and none covers any of the files; else
 *  none. `from` is the agent that is about to start. */
export function outOfEveryScope(
  graph: Graph,
  kinds: readonly NodeKind[],
  from: Node,
  last: LastFailure | null,
): readonly string[] {
  if (last === null || last.class !== 'product' || last.command === undefined) return [];
  if (last.executable_success_since) return [];
  const agents = loopOf(graph, from.id, last.node).flatMap((id) => {
    const node = graph.nodes.get(id);
    return node !== undefined && kindOf(node, kinds)?.type === 'codergen' ? [node] : [];
  });
  const scopes = agents.map(
    (node) => readAttributes(node.attrs, executableAttributes).values.allowed_write_paths,
  );
  const allowed = scopes.flatMap((scope) => scope ?? []);
  if (scopes.length === 0 || scopes.includes(undefined)) return [];
  const files = filesNamed(last.command);
  return files.some((file) => inScope(file, allowed) || inScope(`${file}/x`, allowed)) ? [] : files;
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
