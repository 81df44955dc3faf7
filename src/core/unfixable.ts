/** Whether a fix can work at all: the class of the last failure, and what an agent may write. Pure. */
import type { Graph, Node } from './graph.ts';
import { leadsTo } from './loop-nodes.ts';
import { type FailureClass, failureClasses, missesProgram } from './outcome.ts';
import { scriptsNamed } from './policy/commands.ts';
import { inScope } from './policy/paths.ts';
import type { LastFailure } from './records/checkpoint.ts';

/** What to do about a failure that is not the product's. */
const remedies: Partial<Record<LastFailure['class'], string>> = {
  scenario: 'fix the scenario',
  infra: 'fix the machine, the network or the key that it needs',
  config: 'fix the command of the node, or install what it runs',
};

/** Whether a command misses a program that an agent may bring; a scenario's programs are the machine's. */
const isBringable = (last: LastFailure): boolean =>
  last.class === 'config' &&
  !last.class_said &&
  last.judge !== true &&
  missesProgram({ ...last, exitCode: last.exit_code });

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
  if (isBringable(last) && allowed.length === 0) return undefined;
  if (remedy !== undefined && (last.class_said || (attribution ?? { how: 'default' }).how !== 'default')) {
    // Only a new run of the scenario can clear its failure.
    const settled = last.executable_success_since && last.judge !== true;
    if (!inOwnScope && (settled || !leadsTo(graph, node.id, last.node))) return undefined;
    const why = attribution?.why ?? `failure_class=${last.class}`;
    const then =
      last.class === 'scenario'
        ? 'start a new run: this one and its forks keep theirs'
        : `run the node again (factory fork RUN --at ${last.node} --before)`;
    return `${prefix} failed with class ${last.class} (${why}), which no change by ${node.id} fixes; ${remedy}, then ${then}`;
  }
  if (!inOwnScope || (last.class_said && last.class === 'product')) return undefined;
  const command = failedNode.settings.tool_command ?? '';
  const outside = scriptsNamed(command).filter((script) => !inScope(script, allowed));
  if (outside.length === 0) return undefined;
  return `${prefix} references ${outside.join(',')} outside allowed_write_paths for ${node.id}`;
}

/** The class of a failure that no agent can fix, of a run that ended for this reason; a resume would start with the agent. */
export const unfixableClass = (reason: string): FailureClass | undefined => {
  const found = /^unfixable_failure_source: failed node \S+ failed with class (\w+) /.exec(reason)?.[1];
  return failureClasses.find((one) => one === found);
};
