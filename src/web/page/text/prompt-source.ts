/** From a change to what asked for it: the execution of an agent whose prompt it comes from. */
import type { ExecutionRow, RunView } from '../../../app/inspect/shapes.ts';
import { isAgentType } from '../../../core/graph.ts';

type Executions = Pick<RunView, 'executions'>['executions'];

/** The execution that wrote `by` (`NODE@VISIT`) itself if an agent did, else the last agent before it in the same work order or part:
 *  a tool has then written what that agent proposed. Undefined where no agent was asked. */
export function promptSource(executions: Executions, by: string): ExecutionRow | undefined {
  const at = executions.findIndex((one) => `${one.node}@${one.visit}` === by);
  const writer = executions[at];
  if (writer === undefined || isAgentType(writer.type)) return writer;
  return executions.slice(0, at).findLast((one) => one.group === writer.group && isAgentType(one.type));
}
