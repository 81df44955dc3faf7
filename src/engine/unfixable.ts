/** Rules that look at what has failed before: a fix that cannot work is not paid for, a success that rests on a failed
 *  tool does not count. */

import { present, readAttributes } from '../model/attribute.ts';
import type { LastFailure, NodeOutcome } from '../model/checkpoint.ts';
import type { Graph, Node } from '../model/graph.ts';
import { own } from '../model/own.ts';
import { kindOf } from '../model/resolve.ts';
import type { NodeKind } from '../nodes/kind.ts';
import { executableAttributes } from '../nodes/kind.ts';
import { scriptsNamed } from '../policy/commands.ts';
import { inScope } from '../policy/paths.ts';
import { filesNamed } from '../policy/scenarios.ts';
import { leadsTo, loopOf } from './loops.ts';

/** Why no change that the agent of `node` may make can mend the last failure, or undefined. `allowed` is its
 *  `allowed_write_paths`. The judge, the machine and the configuration are no agent's to mend: whoever leads back to what
 *  failed of them is a fix loop and does not start. An agent with a write scope is held against what it may write too. */
export function unfixableSource(
  graph: Graph,
  node: Node,
  allowed: readonly string[],
  last: LastFailure | null,
): string | undefined {
  if (last === null) return undefined;
  const failedNode = graph.nodes.get(last.node);
  if (failedNode === undefined) return undefined;
  const prefix = `unfixable_failure_source: failed node ${last.node}`;
  const why = notTheProduct(last);
  // Whatever succeeds after a judge settles nothing that the judge has said.
  const settled = last.executable_success_since && last.judge !== true;
  if (why !== undefined && !settled && leadsTo(graph, node.id, last.node))
    return `${prefix} ${why}, which no write of ${node.id} mends; ${mend(last)}`;
  if (allowed.length === 0 || last.node_type !== 'tool' || last.executable_success_since) return undefined;
  // Said or shown, it is as little theirs who lead elsewhere.
  if (why !== undefined) return `${prefix} ${why}, which no write of ${node.id} mends; ${mend(last)}`;
  if (last.class_said && last.class === 'product') return undefined;
  const command = present(failedNode.attrs, 'tool_command')?.value.text ?? '';
  const outside = scriptsNamed(command).filter((script) => !inScope(script, allowed));
  if (outside.length === 0) return undefined;
  return `${prefix} references ${outside.join(',')} outside allowed_write_paths for ${node.id}`;
}

/** What shows that a failure is not the product's; undefined when nothing does. */
function notTheProduct(last: LastFailure): string | undefined {
  const { attribution, exit_code } = last;
  if (last.class !== 'scenario' && last.class !== 'infra' && last.class !== 'config') return undefined;
  if (last.class_said) return `reported failure_class=${last.class}`;
  if (attribution !== undefined && attribution.how !== 'default')
    return attribution.how === 'evidence' && exit_code !== null
      ? byCode(exit_code, last)
      : `failed of its ${last.class} (${attribution.why})`;
  // Of a run that was begun before failures told how they were attributed.
  return attribution === undefined && [86, 126, 127].includes(exit_code ?? 0)
    ? byCode(exit_code ?? 0, last)
    : undefined;
}

function byCode(code: number, last: LastFailure): string {
  if (last.class === 'infra' && code === 86) return 'reported exit code 86 (infra)';
  if (last.class === 'config' && (code === 126 || code === 127))
    return `could not run its command (exit code ${code})`;
  return `failed of its ${last.class} (${last.attribution?.why ?? `exit code ${code}`})`;
}

/** What to do instead, in words. */
function mend({ class: of, node }: LastFailure): string {
  const first =
    of === 'scenario'
      ? 'mend the scenario'
      : of === 'infra'
        ? 'mend the machine, the network or the key that it needs'
        : 'mend the command of the node, or install what it runs';
  return `${first}, then make the stage again (factory fork RUN --at ${node} --before)`;
}

/** The files that a failed command names, where every agent of its loop has a write scope and none of them covers any of
 *  them; else none. `from` is the agent that is about to start. */
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
