/** What an agent node adds to its prompt of the run so far, and the conversation that it continues. */
import type { AgentReport, AgentTask, AgentThread } from '../core/contracts/agent.ts';
import type { NodeAgent, NodeContext } from '../core/contracts/node-kind.ts';
import type { Fidelity } from '../core/fidelity.ts';
import type { Graph } from '../core/graph.ts';

export type NodePrompt = {
  readonly text: string;
  /** Without what it says of the run so far. */
  readonly task: string;
};

/** The prompt with what `fidelity` says of the run so far, stored in `prompt.md`. */
export async function keptPrompt(
  task: string,
  fidelity: Fidelity | undefined,
  { inputs, files }: Pick<NodeContext, 'inputs' | 'files'>,
): Promise<NodePrompt> {
  const isAlone = fidelity === undefined || fidelity === 'full';
  const text = isAlone ? task : `${await inputs.preamble(fidelity)}${task}`;
  await files.keep('prompt.md', `${text}\n`);
  return { text, task };
}

/** The conversation that the node continues or begins, or why it may not; undefined without one. */
export function threadOf(
  { inputs }: NodeContext,
  agent: NodeAgent,
): AgentThread | { readonly refused: string } | undefined {
  const { thread } = inputs.conversation;
  if (thread === undefined) return undefined;
  const opened = agent.thread(thread.key, thread.begins);
  return 'refused' in opened || !thread.begins ? opened : { ...opened, begins: true };
}

/** Asks in the conversation. Where it cannot be continued, the agent is asked with a summary of the run instead. */
export async function askInThread(
  prompt: NodePrompt,
  thread: AgentThread | undefined,
  context: NodeContext,
  ask: (prompt: string, within: Pick<AgentTask, 'thread'>) => Promise<AgentReport>,
): Promise<AgentReport> {
  if (thread === undefined) return ask(prompt.text, {});
  const report = await ask(prompt.text, { thread });
  if (report.kind !== 'failed' || report.threadLost !== true) return report;
  for (const usage of report.spentBefore ?? []) context.agent?.spent(usage);
  reportOnce(context, thread.key, report.reason);
  const again = await keptPrompt(prompt.task, 'summary:high', context);
  return ask(again.text, { thread: { ...thread, before: undefined, lost: true } });
}

/** What was logged of the conversations of a run. */
const logged = new WeakMap<Graph, Set<string>>();

/** The agent of a thread may have no conversations at all: it is logged once, not with every node. */
function reportOnce({ graph, log }: NodeContext, thread: string, why: string): void {
  const known = logged.get(graph) ?? new Set();
  logged.set(graph, known);
  const key = JSON.stringify([thread, why]);
  if (known.has(key)) return;
  known.add(key);
  log('warn', 'the conversation cannot be continued; the prompt has a summary (summary:high)', {
    thread,
    why,
  });
}
