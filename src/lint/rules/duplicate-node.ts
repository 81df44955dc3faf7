/** A node is declared once: of an attribute in several declarations, only the last value counts. */
import { finding, type Rule } from '../rule.ts';

export const duplicateNode: Rule = {
  code: 'duplicate-node',
  severity: 'warning',
  rule: 'A node is declared once: of two values, the last counts.',
  wrong: 'start; exit; a [label=a]; a [label=b]; start -> a -> exit',
  fix: 'one declaration',
  check: ({ graph }) =>
    graph.declaredTwice.map(({ id, span }) => {
      const first = graph.nodes.get(id)?.span.start.line;
      return finding(graph, duplicateNode, {
        message: `"${id}" is declared again (first in line ${first}): its attributes are merged, and the last value of each counts`,
        span,
        fix: 'write one declaration with all attributes, or give the second node another id',
      });
    }),
};
