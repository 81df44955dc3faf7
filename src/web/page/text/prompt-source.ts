/** From a change to what asked for it: the execution of an agent whose prompt it comes from. */
import type { ExecutionRow } from '../../../app/inspect/execution-shapes.ts';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { isAgentType } from '../../../core/graph.ts';

/** The execution that wrote `by` (`NODE@VISIT`) itself if an agent did, else the last agent before it in the same work order or part:
 *  a tool has then written what that agent proposed. An order that was asked ahead has its agent in a branch, whose title names it.
 *  Undefined where no agent was asked. */
export function promptSource(
  { executions, groups }: Pick<RunView, 'executions' | 'groups'>,
  by: string,
): ExecutionRow | undefined {
  const at = executions.findIndex((one) => `${one.node}@${one.visit}` === by);
  const writer = executions[at];
  if (writer === undefined || isAgentType(writer.type)) return writer;
  const agents = executions.slice(0, at).filter(({ type }) => isAgentType(type));
  const ahead = groups.find(
    ({ kind, title }) => kind === 'branch' && title.split(/\s+/).includes(writer.group),
  );
  return (
    agents.findLast(({ group }) => group === writer.group) ??
    (ahead && agents.findLast(({ group }) => group === ahead.id))
  );
}
