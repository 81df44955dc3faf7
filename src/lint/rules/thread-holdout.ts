/** A conversation holds what its agents have read: one that may read the scenarios tells them to all others in it. */
import { fidelityOf, givenByEdge, namedThread } from '../../core/fidelity.ts';
import { isAgentType, type Node } from '../../core/graph.ts';
import { mayReadHoldout } from '../../core/settings/node.ts';
import { finding, type Rule, type Subject } from '../rule.ts';

export const threadHoldout: Rule = {
  code: 'thread-holdout',
  severity: 'error',
  rule: 'A node that may read the holdout scenarios shares no conversation with one that may not.',
  wrong:
    'start; exit; node [label=x, fidelity=full, thread_id=t]; a; b [codex.allow_read_scenarios=true]; start -> a -> b -> exit',
  fix: 'another `thread_id`',
  *check(subject) {
    const { graph } = subject;
    const members = new Map<string, Node>();
    for (const node of graph.nodes.values()) {
      for (const { key, previous, behind } of isAgentType(node.type) ? threadsOf(node, subject) : []) {
        const other = previous ?? members.get(key);
        if (other === undefined) members.set(key, node);
        if (other === undefined || mayReadHoldout(other) === mayReadHoldout(node)) continue;
        if (behind !== undefined && ![node, other].some(({ id }) => leadsTo(id, behind, subject))) continue;
        const [reader, kept] = mayReadHoldout(node) ? [node, other] : [other, node];
        const attribute = node.attrs.get('thread_id') ?? node.attrs.get('fidelity');
        yield finding(graph, threadHoldout, {
          message: `"${reader.id}" may read the scenarios, and shares the conversation "${key}" with "${kept.id}", which may not`,
          span: attribute?.valueSpan ?? node.span,
          fix: `give "${node.id}" another thread_id or another fidelity`,
        });
        break;
      }
    }
  },
};

type Thread = {
  readonly key: string;
  /** The node whose conversation it is, where nothing names it. */
  readonly previous?: Node;
  /** The node without a conversation after which it is named: others that follow it share it if the run comes there again. */
  readonly behind?: string;
};

/** The conversations that a node may continue, as far as the text says it. */
function threadsOf(node: Node, { graph, incoming }: Subject): readonly Thread[] {
  const edges = incoming.get(node.id) ?? [];
  const ways = [
    ...edges.map((edge) => ({ from: edge.from, given: givenByEdge(edge) })),
    { from: '', given: {} },
  ];
  return ways.flatMap(({ from, given }): Thread[] => {
    if (fidelityOf(node, given) !== 'full') return [];
    const key = namedThread(graph, node, given);
    if (key !== undefined) return [{ key }];
    const previous = graph.nodes.get(from);
    if (previous === undefined) return [];
    return [{ key: from, ...(isAgentType(previous.type) ? { previous } : { behind: from }) }];
  });
}

function leadsTo(from: string, to: string, { outgoing }: Subject): boolean {
  const reached = new Set([from]);
  for (const id of reached) for (const edge of outgoing.get(id) ?? []) reached.add(edge.to);
  return reached.has(to);
}
