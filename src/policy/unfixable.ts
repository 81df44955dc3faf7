/** Whether a fix can work at all: the class of the last failure, and what an agent may write. Pure. */
import type { LastFailure } from '../model/checkpoint.ts';
import type { Graph, Node } from '../model/graph.ts';
import { scriptsNamed } from './commands.ts';
import { leadsTo } from './loops.ts';
import { inScope } from './paths.ts';

/** What to do about a failure that is not the product's. */
const remedies: Partial<Record<LastFailure['class'], string>> = {
  scenario: 'fix the scenario',
  infra: 'fix the machine, the network or the key that it needs',
  config: 'fix the command of the node, or install what it runs',
};

/** Why no change that the agent of `node` may make can fix the last failure, or undefined. `allowed` is its
 *  `allowed_write_paths`. An agent cannot fix a scenario, the machine or the configuration: an agent on a path back
 *  to such a failure does not start. An agent with a write scope is also checked against the failed scripts. */
export function unfixableSource(
  graph: Graph,
  node: Node,
  allowed: readonly string[],
  last: LastFailure | null,
): string | undefined {
  const failedNode = last === null ? undefined : graph.nodes.get(last.node);
  if (last === null || failedNode === undefined) return undefined;
  const prefix = `unfixable_failure_source: failed node ${last.node}`;
  const inOwnScope = allowed.length > 0 && last.node_type === 'tool' && !last.executable_success_since;
  const { attribution } = last;
  const remedy = remedies[last.class];
  if (remedy !== undefined && (last.class_said || (attribution ?? { how: 'default' }).how !== 'default')) {
    // Only a new run of the scenario can clear its failure.
    const settled = last.executable_success_since && last.judge !== true;
    if (!inOwnScope && (settled || !leadsTo(graph, node.id, last.node))) return undefined;
    const why = attribution?.why ?? `failure_class=${last.class}`;
    return `${prefix} failed with class ${last.class} (${why}), which no change by ${node.id} fixes; ${remedy}, then run the node again (factory fork RUN --at ${last.node} --before)`;
  }
  if (!inOwnScope || (last.class_said && last.class === 'product')) return undefined;
  const command = failedNode.settings.tool_command ?? '';
  const outside = scriptsNamed(command).filter((script) => !inScope(script, allowed));
  if (outside.length === 0) return undefined;
  return `${prefix} references ${outside.join(',')} outside allowed_write_paths for ${node.id}`;
}

/** Whether a run that ended for this reason resumes at the failed node: otherwise the resume would start with the
 *  agent that cannot fix it. */
export const wantsStageAgain = (reason: string): boolean =>
  reason.startsWith('unfixable_failure_source: ') && reason.endsWith(' --before)');
