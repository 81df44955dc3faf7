/** Every node can be reached from the start: by an edge, or as the retry target of one that can. */
import { finding, nodesOf, type Rule } from '../rule.ts';
import { reachedIds } from '../unread.ts';

export const unreachableNode: Rule = {
  code: 'unreachable',
  severity: 'error',
  rule: 'A path leads to every node from the start.',
  wrong: 'start; exit; orphan [label=x]; start -> exit',
  fix: 'add an edge to it, or remove the node',
  needs: 'whole graph',
  check: (subject) => {
    const { graph } = subject;
    const [start] = nodesOf(subject, 'start');
    const reached = reachedIds(subject);
    if (start === undefined || reached === undefined) return [];
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
