/** How much of the run an agent is given besides its prompt, and which conversation its node continues. Pure. */
import type { FailedReport } from './contracts/agent.ts';
import { type Edge, type Graph, isAgentType, type Node } from './graph.ts';
import type { RunState } from './records/checkpoint.ts';
import { present } from './settings/types.ts';

export const fidelities = [
  'full',
  'truncate',
  'compact',
  'summary:low',
  'summary:medium',
  'summary:high',
] as const;
export type Fidelity = (typeof fidelities)[number];

/** What a node's agent is given of the run. */
export type NodeConversation = {
  /** Undefined where nothing says one: the prompt is the node's alone. */
  readonly fidelity: Fidelity | undefined;
  /** The conversation that it continues, or with `begins` one that a later node may continue. */
  readonly thread: { readonly key: string; readonly begins: boolean } | undefined;
};

/** What an edge sets for the node that it leads to. */
type Given = { readonly fidelity?: Fidelity; readonly thread?: string };

export function givenByEdge({ attrs }: Edge): Given {
  const word = present(attrs, 'fidelity')?.value.text.trim();
  const fidelity = fidelities.find((one) => one === word);
  const thread = present(attrs, 'thread_id')?.value.text.trim();
  return { ...(fidelity === undefined ? {} : { fidelity }), ...(thread === undefined ? {} : { thread }) };
}

/** Such a node cannot look around in the workspace. */
const blind = 'prompt';

export const fidelityOf = ({ type, settings }: Node, given: Given): Fidelity | undefined =>
  given.fidelity ?? settings.fidelity ?? (type === blind ? 'compact' : undefined);

/** The key that node, edge, graph or subgraph gives. */
export const namedThread = (
  { settings }: Pick<Graph, 'settings'>,
  node: Node,
  given: Given,
): string | undefined =>
  node.settings.thread_id ?? given.thread ?? settings.default_thread ?? node.classes.at(-1);

/** What the next execution of the node gets in this state. */
export function conversationAt(
  graph: Graph,
  node: Node,
  { arrived, threads = {} }: Pick<RunState, 'arrived' | 'threads'>,
): NodeConversation {
  const given = arrived ?? {};
  const fidelity = fidelityOf(node, given);
  if (fidelity !== 'full') {
    const begins = isContinued(graph, node);
    return { fidelity, thread: begins ? { key: node.id, begins } : undefined };
  }
  const from = arrived?.from ?? node.id;
  const key = namedThread(graph, node, given) ?? lastThreadOf(from, threads) ?? from;
  return { fidelity, thread: { key, begins: false } };
}

/** Whether the conversation of a node is for the node after it, which continues that of the previous node. */
export const isContinued = (graph: Graph, { id }: Node): boolean =>
  graph.edges.some((edge) => {
    const next = edge.from === id ? graph.nodes.get(edge.to) : undefined;
    const given = givenByEdge(edge);
    return (
      next !== undefined &&
      isAgentType(next.type) &&
      fidelityOf(next, given) === 'full' &&
      namedThread(graph, next, given) === undefined
    );
  });

/** The thread in which the latest execution of a node was. */
function lastThreadOf(node: string, threads: NonNullable<RunState['threads']>): string | undefined {
  const its = Object.entries(threads).filter(([, thread]) => thread.node === node);
  return its.sort(([, a], [, b]) => b.step - a.step)[0]?.[0];
}

/** The report of an agent that cannot continue its conversation: no model was asked. */
export const lostThread = (reason: string): FailedReport => ({
  kind: 'failed',
  class: 'agent',
  reason,
  unbilled: true,
  threadLost: true,
});
