/** The conversation of an agent node. */
import type { AgentReport, AgentTask, AgentThread } from '../core/contracts/agent.ts';
import type { NodeAgent, NodeContext } from '../core/contracts/node-kind.ts';

/** The conversation that the node continues or begins, or why it may not; undefined without one. */
export function threadOf(
  { inputs }: NodeContext,
  agent: NodeAgent,
): AgentThread | { readonly refused: string } | undefined {
  const { thread } = inputs.conversation;
  if (thread === undefined) return undefined;
  const opened = agent.thread(thread.key);
  if ('refused' in opened || !thread.begins) return opened;
  return { ...opened, before: undefined, begins: true };
}

/** Asks for the task in its conversation; without it where it cannot be continued. */
export async function askInThread(
  thread: AgentThread | undefined,
  task: AgentTask,
  { attempt, log }: Pick<NodeContext, 'attempt' | 'log'>,
  ask: (task: AgentTask) => Promise<AgentReport>,
): Promise<AgentReport> {
  if (thread === undefined) return ask(task);
  const report = await ask({ ...task, thread });
  if (report.kind !== 'failed' || report.threadLost !== true) return report;
  const fields = { thread: thread.key, why: report.reason };
  if (attempt.number === 1) log('warn', 'the conversation cannot be continued: a new one begins', fields);
  return ask({ ...task, thread: { ...thread, before: undefined, lost: true } });
}
