/** Whether a fix can work at all: whose failure the last one is, and what an agent may write. Pure. */
import { present } from '../model/attribute.ts';
import type { LastFailure } from '../model/checkpoint.ts';
import type { Graph, Node } from '../model/graph.ts';
import { scriptsNamed } from './commands.ts';
import { leadsTo } from './loops.ts';
import { inScope } from './paths.ts';

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

/** Whether a run that ended for this reason goes on by making what failed again: a resume would come to the agent that
 *  cannot mend it. */
export const wantsStageAgain = (reason: string): boolean =>
  reason.startsWith('unfixable_failure_source: ') && reason.endsWith(' --before)');
