/** Every node can be reached from the start: by an edge, or as the retry target of one that can. */
import { type Attributes, present } from '../../core/settings/types.ts';
import { finding, nodesOf, type Rule } from '../rule.ts';
import { misspeltTargets } from '../unread.ts';

const targets = (attrs: Attributes): readonly string[] =>
  ['retry_target', 'fallback_retry_target'].flatMap((key) => present(attrs, key)?.value.text.trim() ?? []);

export const unreachableNode: Rule = {
  code: 'unreachable',
  severity: 'error',
  rule: 'A path leads to every node from the start.',
  wrong: 'start; exit; orphan [label=x]; start -> exit',
  fix: 'add an edge to it, or remove the node',
  needs: 'whole graph',
  check: (subject) => {
    const { graph, outgoing } = subject;
    const starts = nodesOf(subject, 'start');
    const [start] = starts;
    // Without a start every node would be unreachable; with two, the author must choose first.
    if (start === undefined || starts.length > 1) return [];
    const reached = new Set<string>();
    // What a misspelt edge was to reach is reported with the edge.
    const misspelt = misspeltTargets(subject);
    const open = [start.id, ...targets(graph.attrs)];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      const node = graph.nodes.get(id);
      if (node === undefined || reached.has(id)) continue;
      reached.add(id);
      open.push(misspelt.get(id) ?? id);
      for (const { to } of outgoing.get(id) ?? []) open.push(to);
      open.push(...targets(node.attrs));
    }
    return [...graph.nodes.values()]
      .filter(({ id }) => !reached.has(id))
      .map(({ id, span }) =>
        finding(graph, unreachableNode, {
          message: `"${id}" is unreachable (orphan): no path leads to it from "${start.id}"`,
          span,
          fix: 'add an edge that leads to it, or remove it',
        }),
      );
  },
};
